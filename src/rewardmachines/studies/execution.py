"""The runs of a study, carried out: begun or resumed, for as long as there is time, and then summed up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from rewardmachines.files import write_aside
from rewardmachines.runs import orders
from rewardmachines.runs.folder import RunFolder
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result, line_of, read_result
from rewardmachines.studies.study import Command
from rewardmachines.studies.summaries import summary

Unit: TypeAlias = Sequence[PlannedRun]
"""Runs that are carried out together."""

RESULT: Final = "result.json"
"""The file in the folder of a run that says that it has ended, and what came of it."""


@dataclass(frozen=True)
class Workplace:
    """The folder of the runs of studies. Runs of all studies lie side by side, each by its key."""

    root: Path

    def folder(self, run: PlannedRun) -> Path:
        """The folder of a run."""
        return self.root / run.key

    def files(self, run: PlannedRun) -> RunFolder:
        """The paths of the files of a run."""
        return RunFolder(self.folder(run))

    def result(self, run: PlannedRun) -> Result | None:
        """The result of a run that has ended here."""
        path = self.folder(run) / RESULT
        return read_result(path) if path.exists() else None

    def has_begun(self, run: PlannedRun) -> bool:
        """Whether a run has begun here."""
        return self.files(run).config.exists()


def carry_out(unit: Unit, workplace: Workplace, is_time_up: Callable[[], bool]) -> list[Result | None]:
    """Begins runs or goes on with them, and writes the result of each when it has ended.

    Args:
        unit: The runs, which are carried out together.
        workplace: The folder of runs.
        is_time_up: Asked after every chunk. If so, runs are left with a checkpoint, and can go on later.

    Returns:
        The result of each run; None if time was up before it had ended.
    """
    todo = [run for run in unit if workplace.result(run) is None]
    # Runs that have begun go on first, because those that have not would leave them behind.
    for part in ([r for r in todo if workplace.has_begun(r)], [r for r in todo if not workplace.has_begun(r)]):
        if part and not _advanced(part, workplace, is_time_up):
            break
    return [workplace.result(run) for run in unit]


def _advanced(runs: Unit, workplace: Workplace, is_time_up: Callable[[], bool]) -> bool:
    """Whether all runs have ended; if not, time is up. A run has ended if the others are two chunks ahead of it."""
    resume = workplace.has_begun(runs[0])
    asked = [run.order(workplace.folder(run), resume=resume) for run in runs]
    chunks = [0] * len(runs)
    with closing(orders.carry_out(asked, is_watched=False)) as advancing:
        for number, _ in advancing:
            chunks[number] += 1
            for run, count in zip(runs, chunks, strict=True):
                if count < max(chunks) - 1:
                    _sum_up(run, workplace)
            if is_time_up():
                return False
    for run in runs:
        _sum_up(run, workplace)
    return True


def _sum_up(run: PlannedRun, workplace: Workplace) -> None:
    """Writes the result of a run that has ended, unless it was written before."""
    path = workplace.folder(run) / RESULT
    if not path.exists():
        write_aside(path, line_of(summary(run, workplace.folder(run))))


def units(runs: Sequence[PlannedRun], *, together: bool) -> list[Unit]:
    """Runs that are best carried out together: on a GPU, those that differ in their seeds only, in one program.

    A GPU has room for several; on a CPU, three runs in one program took longer than one after the other. Flat baselines
    search in processes of their own, always one by one.

    Args:
        runs: The runs.
        together: Whether they are carried out on a GPU.
    """
    groups: dict[str, list[PlannedRun]] = {}
    for run in runs:
        is_alone = run.command is Command.FLAT or not together
        groups.setdefault(run.key if is_alone else run.key_without_seed, []).append(run)
    return list(groups.values())


def deadline(seconds: float | None) -> Callable[[], bool]:
    """A function that says whether a number of seconds has passed since now; never, if none is given."""
    end = None if seconds is None else time.monotonic() + seconds
    return lambda: end is not None and time.monotonic() >= end


def unfinished(runs: Sequence[PlannedRun], workplace: Workplace, known: Sequence[str]) -> list[PlannedRun]:
    """The runs that have no result yet: those that have begun first, then study by study, and in each seed by seed.

    So a study that is stopped has all kinds of runs with as many seeds as there was time for.

    Args:
        runs: All runs of a study.
        workplace: The folder of runs.
        known: Keys of runs whose results are known from other folders.
    """
    each = {run.key: run for run in runs}.values()  # two blocks may ask for the same run
    missing = [run for run in each if run.key not in known and workplace.result(run) is None]
    studies = list(dict.fromkeys(run.study for run in runs))
    return sorted(missing, key=lambda run: (not workplace.has_begun(run), studies.index(run.study), run.seed))
