"""The claim of the paper about policies: who learns first, on a hierarchy, on its flat form, or with CRM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from rewardmachines.experiments.evidence import needed_to
from rewardmachines.experiments.findings import FAILS, HOLDS, OPEN, Finding, judged
from rewardmachines.experiments.results import Result
from rewardmachines.experiments.tables import ALGORITHMS

_ORDER: Final = ("hrl", "flat-hrl", "crm")
_ALIKE: Final = "milk-bucket"
_TASKS: Final = (_ALIKE, "book-quill", "cake")


def hierarchy_first(whose: str, suffix: str) -> Callable[[Sequence[Result]], Finding]:
    """Whether the order of algorithms is the paper's in all tasks, with our hierarchies or with the authors'.

    The paper says of the easiest task that hierarchy and flat machine are alike there: either may come first.

    Args:
        whose: Whose hierarchies they are, in words.
        suffix: What is appended to the names of tasks for these hierarchies.
    """
    claim = (
        f"In FRL {whose} hierarchy learns before the flat machine, but for {_ALIKE} where they are alike, and both "
        "learn before CRM (episodes to a return of 0.9)"
    )

    def judge(results: Sequence[Result]) -> Finding:
        orders: list[str] = []
        missing, wrong = [], []
        for task in _TASKS:
            means = [needed_to(results, task + (suffix if what == "hrl" else ""), what, "episodes") for what in _ORDER]
            known = [mean for mean in means if mean is not None]
            if len(known) < len(_ORDER):
                without = [ALGORITHMS[what] for what, mean in zip(_ORDER, means, strict=True) if mean is None]
                missing.append(f"{task} ({', '.join(without)})" if known else task)
                continue
            orders.append(f"{task} {' / '.join(f'{mean:,.0f}' for mean in known)}")
            if max(known) != known[-1] or (task != _ALIKE and known[0] > known[1]):
                by_episodes = sorted(zip(known, _ORDER, strict=True))
                wrong.append(f"{task}: {' before '.join(ALGORITHMS[what] for _, what in by_episodes)}")
        verdict = FAILS if wrong else HOLDS if orders else OPEN
        why = f"The order differs. {'; '.join(wrong)}." if wrong else ""
        ours = "; ".join(orders)
        found = judged(claim, "3 of 3 tasks", ours, verdict, missing=missing, why=why, refuted=bool(wrong))
        return replace(found, remark=_in_steps(results, suffix)) if found.verdict == HOLDS else found

    return judge


def _in_steps(results: Sequence[Result], suffix: str) -> str:
    """The same comparison in steps, where an algorithm whose episodes are shorter has an advantage."""
    parts = []
    for task in _TASKS:
        means = [needed_to(results, task + (suffix if what == "hrl" else ""), what, "steps") for what in _ORDER]
        parts.append(f"{task} {' / '.join(f'{mean:,.0f}' for mean in means if mean is not None)}")
    return f"In steps: {'; '.join(parts)}."
