"""Some runs of a study, chosen by the names of what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.studies.plan import PlannedRun

_NAMES: Final[tuple[Callable[[PlannedRun], Iterable[str]], ...]] = (
    lambda run: (run.block.name,),
    lambda run: (run.setting,),
    lambda run: run.tasks,
    lambda run: (run.what,),
)
"""The names of a run, by kind: its block, its setting, its tasks, and its algorithm or method."""


def chosen_runs(runs: Sequence[PlannedRun], names: Iterable[str]) -> tuple[PlannedRun, ...]:
    """The runs that have all of the names. Names of one kind, such as two settings, are alternatives.

    Args:
        runs: All runs of a study.
        names: Names of blocks, settings, tasks, algorithms or methods; all runs are chosen if there are none.

    Raises:
        RewardMachineError: Nothing in the study has such a name, or no run has all of them.
    """
    wanted: dict[int, set[str]] = {}
    for name in names:
        wanted.setdefault(_kind(runs, name), set()).add(name.casefold())
    chosen = tuple(
        run for run in runs if all(some & _folded(_NAMES[kind](run)) for kind, some in wanted.items())
    )  # fmt: skip
    if not chosen:
        raise RewardMachineError(f"no run of the study is all of {', '.join(names)}: leave out an --only")
    return chosen


def _kind(runs: Sequence[PlannedRun], name: str) -> int:
    """The index in `_NAMES` of the kind that has such a name. Blocks come first, since users name them."""
    for kind, names_of in enumerate(_NAMES):
        if any(name.casefold() in _folded(names_of(run)) for run in runs):
            return kind
    known = dict.fromkeys(each for names_of in _NAMES for run in runs for each in names_of(run))
    blocks = dict.fromkeys(run.block.name for run in runs)
    hint = suggestion(name, known) or f"; its runs are called {', '.join(blocks)}"
    raise RewardMachineError(f"--only {name}: the study has no runs, setting, task or algorithm of that name{hint}")


def _folded(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names}
