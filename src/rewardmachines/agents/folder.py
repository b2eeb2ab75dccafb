"""The folder of a run: what lies where, who may write, and what can be wrong with it."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from rewardmachines.agents.specs import Order, load_order, save_order
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import load, save


@dataclass(frozen=True)
class RunFolder(ABC):
    """What all kinds of runs have in common."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def machines(self) -> Path:
        return self.path / "machines"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def timing(self) -> Path:
        return self.path / "timing.jsonl"

    @property
    def events(self) -> Path:
        return self.path / "events"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    @property
    def lock(self) -> Path:
        return self.path / "run.lock"

    def check_free(self) -> None:
        """A new run may not lie upon anything."""
        if self.config.exists():
            raise RewardMachineError(f"{self.path}: there is a run already; choose another folder, or --resume it")
        if self.path.is_dir() and any(child != self.lock for child in self.path.iterdir()):
            raise RewardMachineError(f"{self.path}: the folder is not empty; choose another")

    def check_run(self) -> None:
        if not self.config.exists():
            missing = self.config.name
            raise RewardMachineError(f"{self.path}: there is no run (no {missing}), so nothing to resume or to look at")

    @contextmanager
    def writable(self) -> Iterator[None]:
        """Makes the folder, and keeps every other process from training there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = self.lock.open("a")
        except OSError as problem:
            raise RewardMachineError(f"{self.path}: cannot be written to ({problem.strerror})") from None
        with file:
            if not _lock(file.fileno()):
                raise RewardMachineError(f"{self.path}: another process is training there right now")
            for part in self.path.rglob(".*.part"):
                part.unlink()  # a process was killed while it wrote aside
            yield


@dataclass(frozen=True)
class Folder(RunFolder):
    """Of a run that trains policies for a task."""

    def policy(self, task: str, seed: int) -> Path:
        return self.path / "policies" / f"{file_name(task)}-{seed}.safetensors"

    def write_order(self, order: Order, hierarchy: Hierarchy) -> None:
        """The settings come last: with them, it is a run."""
        for folder in (self.machines, self.policy("", 0).parent):
            folder.mkdir(exist_ok=True)
        save(hierarchy, self.machines / f"{file_name(hierarchy.root)}.json")
        save_order(order, self.config)

    def read_order(self) -> tuple[Order, Hierarchy]:
        self.check_run()
        order = load_order(self.config)
        files = sorted(self.machines.glob("*.json"))
        if len(files) != 1:
            raise RewardMachineError(f"{self.machines}: damaged, there must be one machine file, not {len(files)}")
        return order, load(files[0])


def file_name(name: str) -> str:
    return quote(name, safe=" +&")


def _lock(descriptor: int) -> bool:
    """Until the file is closed, or the process ends in whatever way."""
    try:
        import fcntl
    except ImportError:  # not on Unix: it goes without
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
