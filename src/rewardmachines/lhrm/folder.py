"""The folder of a run that learns machines and policies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import bank_of_run, copy_bank
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import load, load_traces
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec, load_order, save_order
from rewardmachines.runs.folder import RunFolder, file_name
from rewardmachines.traces import Trace


@dataclass(frozen=True)
class LearnFolder(RunFolder):
    """The folder of a run of LHRM. It also holds machines and examples of tasks, a file of policies, and a report."""

    @property
    def examples(self) -> Path:
        """The folder of trace files."""
        return self.path / "examples"

    @property
    def policies(self) -> Path:
        """The file of the policies of all tasks."""
        return self.path / "policies.safetensors"

    @property
    def best_policies(self) -> Path:
        """The file of the policies with the highest mean return so far; only runs on Gymnasium environments have it."""
        return self.path / "policies-best.safetensors"

    def example_file(self, task: str) -> Path:
        """The trace file of a task."""
        return self.examples / f"{file_name(task)}.jsonl"

    def write_order(self, order: LearnOrder, bank: Bank | None = None) -> None:
        """Makes the subfolders and copies the bank, and then writes the settings, with which the folder becomes a run.

        Args:
            order: The settings.
            bank: The bank of skills that the run begins with, if there is one.
        """
        self.make_subfolders()
        if bank is not None:
            copy_bank(bank, self.bank)
        save_order(order, self.config)

    def make_subfolders(self) -> None:
        """Makes the folders of machines and examples, unless they exist."""
        for folder in (self.machines, self.examples):
            folder.mkdir(exist_ok=True)

    def read_order(self) -> LearnOrder:
        """Reads the settings of the run.

        Raises:
            RewardMachineError: There is no such run, or it is damaged.
        """
        self.check_run()
        return load_order(self.config)

    def read_bank(self, spec: LearnSpec) -> Bank | None:
        """Reads the bank of skills that the run was begun with, if it was begun with one.

        Raises:
            RewardMachineError: It is missing, damaged or another one.
        """
        return None if spec.bank is None else bank_of_run(self.bank, spec.bank)

    def read_machines(self, tasks: Iterable[str]) -> dict[str, Hierarchy]:
        """Reads the learned hierarchies of those tasks that have a machine file; other files are ignored."""
        return {name: load(path) for name in tasks if (path := self.machine(name)).is_file()}

    def read_examples(self, tasks: Iterable[str]) -> dict[str, tuple[Trace, ...]]:
        """Reads the examples of those tasks that have a trace file."""
        return {name: tuple(load_traces(path)) for name in tasks if (path := self.example_file(name)).is_file()}
