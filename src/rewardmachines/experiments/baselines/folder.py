"""The folder of a run of a baseline."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.experiments.baselines.spec import BaselineOrder, load_order, save_order
from rewardmachines.runs.folder import RunFolder


@dataclass(frozen=True)
class FlatFolder(RunFolder):
    """The folder of a run of a baseline. If its machine can be written as a hierarchy, it is among its machines."""

    def write_order(self, order: BaselineOrder) -> None:
        """Makes the subfolders, and then writes the settings, with which the folder becomes a run."""
        self.machines.mkdir(exist_ok=True)
        save_order(order, self.config)

    def read_order(self) -> BaselineOrder:
        """Reads the settings of the run.

        Raises:
            RewardMachineError: There is no such run, or it is damaged.
        """
        self.check_run()
        return load_order(self.config)
