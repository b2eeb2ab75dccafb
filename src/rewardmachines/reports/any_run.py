"""Opens the folder of a run, whatever made it: training or learning, in a domain or in Gymnasium environments."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun, load_gymnasium_training
from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.lhrm.gymnasium_runs.run import GymnasiumRun, load_gymnasium_run
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.runs.config_file import LEARN, LEARN_GYMNASIUM, TRAIN_GYMNASIUM, command_of

AnyRun: TypeAlias = TrainRun | TrainGymnasiumRun | LearnRun | GymnasiumRun
"""A run of any kind."""


def load_any_run(folder: Path) -> AnyRun:
    """Opens the folder of a run of `hrm train`, `hrm learn`, `rm.train_gymnasium` or `rm.learn_gymnasium`.

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
    if command == TRAIN_GYMNASIUM:
        return load_gymnasium_training(folder)
    return load_learning(folder) if command == LEARN else load_run(folder)
