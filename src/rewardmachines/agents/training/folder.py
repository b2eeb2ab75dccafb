"""The folder of a run that trains policies for a task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import bank_of_run, copy_bank
from rewardmachines.agents.training.spec import TrainOrder, TrainSpec, load_order, save_order
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import load
from rewardmachines.runs.folder import RunFolder, file_name, machine_text
from rewardmachines.runs.written import write_file


@dataclass(frozen=True)
class TrainFolder(RunFolder):
    """The folder of a training run. It also holds the hierarchy of the task, and a policy for each seed."""

    def policy(self, task: str, seed: int) -> Path:
        """The file of the policy of one seed."""
        return self.path / "policies" / f"{file_name(task)}-{seed}.safetensors"

    def write_order(self, order: TrainOrder, hierarchy: Hierarchy, bank: Bank | None = None) -> None:
        """Writes the hierarchy of the task and the bank, and then the settings, with which the folder becomes a run."""
        self.write_hierarchy(order.spec.task, hierarchy)
        if bank is not None:
            copy_bank(bank, self.bank)
        save_order(order, self.config)

    def write_hierarchy(self, task: str, hierarchy: Hierarchy) -> None:
        """Makes the subfolders, and writes the hierarchy of the task."""
        for folder in (self.machines, self.policy("", 0).parent):
            folder.mkdir(exist_ok=True)
        self.note_machine(task)
        write_file(self.machine(task), machine_text(hierarchy))

    def read_order(self) -> tuple[TrainOrder, Hierarchy]:
        """Reads the settings of the run, and the hierarchy of the task.

        Raises:
            RewardMachineError: There is no such run, or it is damaged.
        """
        self.check_run()
        order = load_order(self.config)
        return order, self.read_hierarchy(order.spec.task)

    def read_bank(self, spec: TrainSpec) -> Bank | None:
        """Reads the bank of skills that the run was begun with, if it was begun with one.

        Raises:
            RewardMachineError: It is missing, damaged or another one.
        """
        return None if spec.bank is None else bank_of_run(self.bank, spec.bank)

    def read_hierarchy(self, task: str) -> Hierarchy:
        """Reads the hierarchy of the task.

        Raises:
            RewardMachineError: It is missing or damaged.
        """
        path = self.machine(task)
        if not path.is_file():
            raise RewardMachineError(f"{path}: damaged, the machine of the task is missing")
        return load(path)
