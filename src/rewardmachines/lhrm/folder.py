"""The folder of a run that learns machines and policies: what lies where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rewardmachines.agents.training.folder import RunFolder, file_name
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import load, load_traces
from rewardmachines.lhrm.spec import LearnOrder, load_order, save_order
from rewardmachines.traces import Trace


@dataclass(frozen=True)
class LearnFolder(RunFolder):
    @property
    def examples(self) -> Path:
        return self.path / "examples"

    @property
    def policies(self) -> Path:
        return self.path / "policies.safetensors"

    @property
    def report(self) -> Path:
        return self.path / "report"

    def machine_file(self, task: str) -> Path:
        return self.machines / f"{file_name(task)}.json"

    def example_file(self, task: str) -> Path:
        return self.examples / f"{file_name(task)}.jsonl"

    def write_order(self, order: LearnOrder) -> None:
        """The settings come last: with them, it is a run."""
        for folder in (self.machines, self.examples):
            folder.mkdir(exist_ok=True)
        save_order(order, self.config)

    def read_order(self) -> LearnOrder:
        self.check_run()
        return load_order(self.config)

    def read_machines(self, tasks: Iterable[str]) -> dict[str, Hierarchy]:
        """Of the tasks that there is a file of; other files are nobody's that the run knows of."""
        return {name: load(path) for name in tasks if (path := self.machine_file(name)).is_file()}

    def read_examples(self, tasks: Iterable[str]) -> dict[str, tuple[Trace, ...]]:
        """The same for what they were learned from."""
        return {name: tuple(load_traces(path)) for name in tasks if (path := self.example_file(name)).is_file()}
