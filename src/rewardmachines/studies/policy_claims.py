"""Claims about policies: which is learned first, on a hierarchy, on its flat form, or with CRM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rewardmachines.library.published import RUNS
from rewardmachines.studies.aggregate import Mean
from rewardmachines.studies.evidence import Axis, Evidence, Origin, PolicyRuns, some_of
from rewardmachines.studies.tables import ALGORITHMS
from rewardmachines.studies.verdicts import (
    FAILS,
    HOLDS,
    OPEN,
    WITHIN,
    Judgement,
    Ratio,
    limit_verdict,
    order_verdict,
    worst,
)

HIERARCHY, FLAT, CRM = _ORDER = ("hrl", "flat-hrl", "crm")
ALIKE: Final = "milk-bucket"
"""The easiest task, where the paper says that hierarchy and flat machine are alike."""
_TASKS: Final = (ALIKE, "book-quill", "cake")
_EARLY: Final = 0.5
"""The return that shows what was learned at first."""


def hierarchy_first(evidence: Evidence, origin: Origin) -> Judgement:
    """Whether hierarchies are learned on before flat machines of the same origin, and both before CRM, in FRL."""
    means = {task: _reached(evidence, "frl", task, origin) for task in _TASKS}
    whole = {task: known for task, known in means.items() if len(known) == len(_ORDER)}
    verdicts = {task: worst(_orders(task, known).values()) for task, known in whole.items()}
    wrong = [
        f"{task}: {', '.join(words for words, verdict in _orders(task, known).items() if verdict == found)}"
        for task, known in whole.items() if (found := verdicts[task]) != HOLDS
    ]  # fmt: skip
    verdict = worst(verdicts.values())
    said = "The order differs" if verdict == FAILS else "Differences are no larger than their errors"
    return Judgement(
        shown=_shown(whole),
        verdict=verdict,
        why=f"{said}. {'; '.join(wrong)}." if wrong else _in_steps(evidence, origin, list(whole)),
        missing=_missing(means),
        is_refuted=any(verdict == FAILS for task, verdict in verdicts.items() if _is_whole(means[task])),
    )


def _orders(task: str, known: Mapping[str, Mean]) -> dict[str, str]:
    """The verdict on each order of two algorithms that the paper claims for a task."""
    pairs = [(HIERARCHY, CRM), (FLAT, CRM)] + ([(HIERARCHY, FLAT)] if task != ALIKE else [])
    return {
        f"{ALGORITHMS[a]} before {ALGORITHMS[b]}, {known[a]} and {known[b]}": order_verdict(known[a], known[b])
        for a, b in pairs
    }


def _in_steps(evidence: Evidence, origin: Origin, tasks: Sequence[str]) -> str:
    """The same comparison in steps, where an algorithm whose episodes are shorter has an advantage."""
    if not tasks:
        return ""
    return f"In steps: {_shown({task: _reached(evidence, 'frl', task, origin, 'steps') for task in tasks})}."


def flat_first(evidence: Evidence, setting: str) -> Judgement:
    """Whether in some task the flat machine leads at first, by episodes to a return of one half.

    Machines are the authors': the dead end is one option of their flat machines, and several of ours.
    """
    what = (FLAT, HIERARCHY)
    means = {task: _reached(evidence, setting, task, "authors", what=what, threshold=_EARLY) for task in _TASKS}
    whole = {task: known for task, known in means.items() if len(known) == len(what)}
    verdicts = {order_verdict(known[FLAT], known[HIERARCHY]) for known in whole.values()}
    verdict = next((each for each in (HOLDS, WITHIN, FAILS) if each in verdicts), OPEN)
    why = "" if verdict in (HOLDS, OPEN) else "The flat machine does not lead in any task."
    return Judgement(_shown(whole), verdict, why, _missing(means, setting, what))


def crm_close(evidence: Evidence, settings: Sequence[str], limit: float) -> Judgement:
    """Whether CRM needs no more than some times the episodes of the slower of hierarchy and flat machine.

    Machines are the authors', as in `flat_first`.
    """
    ratios: dict[str, Ratio] = {}
    missing: list[str] = []
    for setting in settings:
        means = {task: _reached(evidence, setting, task, "authors") for task in _TASKS}
        missing += _missing(means, setting)
        for task, known in means.items():
            if len(known) == len(_ORDER):
                slower = max(known[HIERARCHY], known[FLAT], key=lambda mean: mean.value)
                ratios[f"{setting.upper()} {task}"] = Ratio.of(known[CRM], slower)
    far = [name for name, ratio in ratios.items() if limit_verdict(ratio, limit) == FAILS]
    return Judgement(
        shown=", ".join(f"{name} {ratio}" for name, ratio in ratios.items()),
        verdict=OPEN if not ratios else FAILS if far else HOLDS,
        why=f"Farther in {', '.join(far)}." if far else "",
        missing=tuple(missing),
    )


def _reached(
    evidence: Evidence,
    setting: str,
    task: str,
    origin: Origin,
    axis: Axis = "episodes",
    what: Sequence[str] = _ORDER,
    threshold: float = 0.9,
) -> dict[str, Mean]:
    """The cost of each algorithm until a return, of those that there are runs of."""
    means = {each: evidence.reached.get(PolicyRuns(setting, task, each, origin, axis, threshold)) for each in what}
    return {each: mean for each, mean in means.items() if mean is not None}


def _shown(means: Mapping[str, Mapping[str, Mean]]) -> str:
    return "; ".join(f"{task} {' / '.join(f'{m.value:,.0f}' for m in known.values())}" for task, known in means.items())


def _is_whole(known: Mapping[str, Mean]) -> bool:
    return len(known) == len(_ORDER) and all(mean.runs >= RUNS for mean in known.values())


def _missing(
    means: Mapping[str, Mapping[str, Mean]], setting: str = "frl", what: Sequence[str] = _ORDER
) -> tuple[str, ...]:
    """The tasks of which there are fewer runs than the paper has, with the algorithms that lack them."""
    parts = []
    for task, known in means.items():
        lacking = [ALGORITHMS[each] for each in what if each not in known or known[each].runs < RUNS]
        count = sum(min(mean.runs, RUNS) for mean in known.values())
        if lacking:
            some = some_of(count, RUNS * len(what))
            parts.append(f"{setting.upper()} {task} {' and '.join(lacking)}{some}")
    return tuple(parts)
