"""Opens the folder of a run, whether `hrm train` or `hrm learn` made it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.runs.config_file import LEARN, command_of

AnyRun: TypeAlias = TrainRun | LearnRun
"""A run of either command."""


def load_any_run(folder: Path) -> AnyRun:
    """Opens the folder of a run of `hrm train` or of `hrm learn`.

    Args:
        folder: The folder of the run.

    Returns:
        The run, of the class that belongs to the command that made it.

    Raises:
        RewardMachineError: The folder does not hold a run.
    """
    run_folder = TrainFolder(folder)
    run_folder.check_run()
    return load_learning(folder) if command_of(run_folder.config) == LEARN else load_run(folder)
