"""Runs that commands look at, by their folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rewardmachines.core.errors import RewardMachineError

if TYPE_CHECKING:
    from rewardmachines.runs.run import Run


def open_runs(*folders: Path, have_policies: bool = True) -> list[Run]:
    """Opens the run in each folder, or those whose common name it is, or those that the folder holds.

    Args:
        folders: The folders.
        have_policies: Whether the runs must train policies, which those of baselines in studies do not.

    Raises:
        RewardMachineError: There is no run, it is damaged, or it trains no policies.
    """
    from rewardmachines.runs.folder import RunFolder, folders_of_seeds
    from rewardmachines.runs.run import open_run

    def found(folder: Path) -> list[Path]:
        if RunFolder(folder).config.exists():
            return [folder]
        named = [own.path for own in folders_of_seeds(RunFolder(folder)).values()]
        held = sorted(path.parent for path in folder.glob("*/config.json"))
        return named or held or [folder]  # the last is no run, as opening it says

    runs = [open_run(path) for folder in folders for path in found(folder)]
    for run in runs:
        if have_policies and not run.config.trains_policies:
            raise RewardMachineError(f"{run.folder}: {run.config.learner} trains no policies: see hrm show, hrm study")
    return runs


def common_name(folders: Sequence[Path]) -> str:
    """The name by which all of these folders are found again: that of a single one, or of several without a seed.

    >>> common_name([Path("runs/mine-9"), Path("runs/mine-10")])
    'runs/mine'
    """
    return str(folders[0]) if len(folders) == 1 else str(folders[0]).rpartition("-")[0]
