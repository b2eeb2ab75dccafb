"""The runs of a study, carried out: begun or resumed, for as long as there is time, and then summed up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Final, TypeAlias

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside
from rewardmachines.runs import orders
from rewardmachines.runs.folder import RunFolder, seconds_so_far
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result, line_of, read_result
from rewardmachines.studies.study import RunKind
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
        is_alone = run.command is RunKind.FLAT or not together
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


@dataclass(frozen=True)
class Schedule:
    """The order in which the runs of a study are carried out within a limit of time.

    In the order of the study, runs come first that can be expected to end: their time is that of equal runs with other
    seeds on the same device. A run of which nothing is known is tried. Once no other run fits, those go on that lose
    nothing when time is up. A search for a flat machine begins anew each time, so it waits for enough time.
    """

    workplace: Workplace
    durations: Mapping[str, float] = field(default_factory=dict)
    """The mean seconds of runs that have ended, by `PlannedRun.key_without_seed`."""

    def next_unit(self, waiting: Sequence[Unit], left: float | None) -> int | None:
        """The number of the unit to be carried out next; None if there is none that the time is good for.

        Args:
            waiting: The units that have not ended, in the order of the study.
            left: The seconds that are left; None without a limit.
        """
        if left is None:
            return 0 if waiting else None
        fitting = (number for number, unit in enumerate(waiting) if self._needed(unit) <= left)
        saved = (number for number, unit in enumerate(waiting) if all(map(_is_saved, unit)))
        return next(fitting, next(saved, None))

    def _needed(self, unit: Unit) -> float:
        """The seconds until the last run of a unit can be expected to end; 0 if nothing is known of it."""
        return max(self._left(run) for run in unit)

    def _left(self, run: PlannedRun) -> float:
        whole = self.durations.get(run.key_without_seed, 0.0)
        spent = seconds_so_far(self.workplace.files(run).timing) if _is_saved(run) else 0.0
        return max(0.0, whole - spent)


def _is_saved(run: PlannedRun) -> bool:
    """Whether a run that is left goes on from where it was: a search for a flat machine does not."""
    return run.command is not RunKind.FLAT


def known_durations(runs: Iterable[PlannedRun], results: Mapping[str, Result], device: str) -> dict[str, float]:
    """The mean seconds that equal runs took on a device, by `PlannedRun.key_without_seed`.

    Args:
        runs: The runs of a study.
        results: The results that there are, by key.
        device: The device, in the words of results.
    """
    found: dict[str, list[float]] = {}
    for run in runs:
        result = results.get(run.key)
        if result is not None and result.made.device == device:
            found.setdefault(run.key_without_seed, []).append(result.seconds)
    return {key: fmean(seconds) for key, seconds in found.items()}


# -- attempts at units: the common part of all engines of sweeps

Outcome: TypeAlias = Result | RewardMachineError | None
"""The result of a run, or what went wrong; None if time was up."""


class SweepWatcher:
    """The observer of a sweep: its methods are called as runs are carried out. This one ignores all events."""

    def began(self, run: PlannedRun) -> None:
        """A run begins or goes on."""

    def look(self) -> None:
        """Some time has passed."""

    def advanced(self, run: PlannedRun, steps: int) -> None:
        """A run in another process has reported the number of its steps so far."""

    def lost(self, run: PlannedRun, reason: str) -> None:
        """The process or the machine that carried a run out was lost; the run is begun again, or goes on."""

    def say(self, message: str) -> None:
        """Something that concerns all runs."""


def share_gpu() -> None:
    """Lets JAX take memory of a GPU as it needs it, unless the user wants otherwise: others may compute there, too.

    It must be called before JAX takes any. Processes that are started afterwards do the same.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def attempt(unit: Unit, root: Path, is_time_up: Callable[[], bool]) -> list[Outcome]:
    """Carries runs out. A run that fails does not end the study.

    Args:
        unit: The runs, which are carried out together.
        root: The folder of the folders of runs.
        is_time_up: Asked after every chunk. If so, runs are left with a checkpoint.

    Returns:
        What came of each run.
    """
    try:
        return list(carry_out(unit, Workplace(root), is_time_up))
    except RewardMachineError as problem:
        return [problem] * len(unit)
