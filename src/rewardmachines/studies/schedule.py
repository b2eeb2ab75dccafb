"""The order of a study's runs within a limit of time: those come next that can be expected to end in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from rewardmachines.runs.inventory import seconds_so_far
from rewardmachines.studies.execution import Unit, Workplace
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result
from rewardmachines.studies.study import Command


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
    return run.command is not Command.FLAT


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
