"""One attempt at a unit of runs, its outcomes, and the watcher of a sweep: the common part of all engines."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.studies.execution import Unit, Workplace, carry_out
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result

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
