"""The folder of a run: what lies where, who may write, and what can be wrong with it."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from rewardmachines.agents.training.spec import Order, load_order, save_order
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import load, plain
from rewardmachines.runs.inventory import describe_run, leftovers
from rewardmachines.runs.written import RECORD, WrittenFiles

_BEGUN: Final = ("machines", "examples", "policies")
"""Folders that a run makes before its settings are written."""


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
        """A new run may not lie upon anything but what a beginning that was broken off has left."""
        if self.config.exists():
            message = f"{self.path}: there is a run already; choose another folder, or --resume it"
            raise RewardMachineError(f"{message}: {describe_run(self.config, self.metrics)}")
        if self.path.is_dir() and (foreign := self._foreign()) is not None:
            name = foreign.relative_to(self.path)
            raise RewardMachineError(f"{self.path}: the folder is not empty: it holds '{name}'; choose another with -o")

    def _foreign(self) -> Path | None:
        """Something in the folder that no run has left there; none, if there is nothing."""
        written = WrittenFiles(self.path)
        ours = {self.lock, self.path / RECORD, *self._leftovers(), *written.owned()}
        begun = [folder for name in _BEGUN if (folder := self.path / name).is_dir()]
        children = (child for folder in (self.path, *begun) for child in sorted(folder.iterdir()))
        return next((child for child in children if child not in ours and child not in begun), None)

    def _leftovers(self) -> Iterator[Path]:
        names = tuple(path.name for path in (self.config, self.metrics, self.timing, self.checkpoint))
        policies = "policies.safetensors"
        return leftovers(self.path, (*names, policies), (*_BEGUN, "report", "report/machines"))

    def begin(self) -> None:
        """Makes the folder, which is locked, ready for a new run."""
        self.check_free()
        WrittenFiles(self.path).forget()

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
            for part in self._leftovers():
                part.unlink(missing_ok=True)
            yield


@dataclass(frozen=True)
class Folder(RunFolder):
    """Of a run that trains policies for a task."""

    def policy(self, task: str, seed: int) -> Path:
        return self.path / "policies" / f"{file_name(task)}-{seed}.safetensors"

    def machine(self, task: str) -> Path:
        return self.machines / f"{file_name(task)}.json"

    def write_order(self, order: Order, hierarchy: Hierarchy) -> None:
        """The settings come last: with them, it is a run."""
        for folder in (self.machines, self.policy("", 0).parent):
            folder.mkdir(exist_ok=True)
        WrittenFiles(self.path).write(self.machine(order.spec.task), machine_text(hierarchy))
        save_order(order, self.config)

    def read_order(self) -> tuple[Order, Hierarchy]:
        self.check_run()
        order = load_order(self.config)
        return order, load(self._machine_of(order))

    def _machine_of(self, order: Order) -> Path:
        """The file of the task; runs of earlier versions may have called the only one otherwise."""
        if (path := self.machine(order.spec.task)).is_file():
            return path
        is_recorded = (self.path / RECORD).exists()
        files = [] if is_recorded else [path for path in sorted(self.machines.glob("*.json")) if path.is_file()]
        if len(files) != 1:
            raise RewardMachineError(f"{self.machines}: damaged, there must be one machine file, not {len(files)}")
        return files[0]


def machine_text(hierarchy: Hierarchy) -> str:
    """A machine file in JSON, as `save` writes it."""
    return json.dumps(plain(hierarchy), indent=2) + "\n"


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
