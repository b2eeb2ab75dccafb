"""The folder of a run that learns machines and policies: what lies where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from rewardmachines.agents.folder import RunFolder, file_name
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import load, load_traces
from rewardmachines.lhrm.disk.orders import LearnOrder, load_order, save_order
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

    def read_machines(self) -> dict[str, Hierarchy]:
        return {name: load(path) for name, path in _files(self.machines, ".json")}

    def read_examples(self) -> dict[str, tuple[Trace, ...]]:
        return {name: tuple(load_traces(path)) for name, path in _files(self.examples, ".jsonl")}


def _files(folder: Path, ending: str) -> Iterator[tuple[str, Path]]:
    """By the names of their tasks."""
    for path in sorted(folder.glob(f"*{ending}")):
        yield unquote(path.name.removesuffix(ending)), path
