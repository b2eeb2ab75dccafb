"""Opens the folder of a run, whether `hrm train`, `hrm learn` or `rm.learn_gymnasium` made it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.lhrm.gymnasium_runs.run import GymnasiumRun, load_gymnasium_run
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.runs.config_file import LEARN, LEARN_GYMNASIUM, command_of

AnyRun: TypeAlias = TrainRun | LearnRun | GymnasiumRun
"""A run of any kind."""


def load_any_run(folder: Path) -> AnyRun:
    """Opens the folder of a run of `hrm train`, `hrm learn` or `rm.learn_gymnasium`.

    Args:
        folder: The folder of the run.

    Returns:
        The run, of the class that belongs to what made it.

    Raises:
        RewardMachineError: The folder does not hold a run.
    """
    run_folder = TrainFolder(folder)
    run_folder.check_run()
    command = command_of(run_folder.config)
    if command == LEARN_GYMNASIUM:
        return load_gymnasium_run(folder)
    return load_learning(folder) if command == LEARN else load_run(folder)
