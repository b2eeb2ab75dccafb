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

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import plain
from rewardmachines.runs.inventory import describe_run, leftovers
from rewardmachines.runs.written import RECORD, WrittenFiles

_BEGUN: Final = ("machines", "examples", "policies")
"""Folders that a run makes before its settings are written."""


@dataclass(frozen=True)
class RunFolder(ABC):
    """What the folders of all kinds of runs have in common."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def machines(self) -> Path:
        return self.path / "machines"

    def machine(self, task: str) -> Path:
        """The machine file of a task."""
        return self.machines / f"{file_name(task)}.json"

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
        """Checks that a new run may be written here: at most, one that never got to its settings has left something.

        Raises:
            RewardMachineError: There is a run already, or something that no run has written.
        """
        if self.config.exists():
            message = f"{self.path}: there is a run already; choose another folder, or --resume it"
            raise RewardMachineError(f"{message}: {describe_run(self.config, self.metrics)}")
        if self.path.is_dir() and (foreign := self._foreign()) is not None:
            name = foreign.relative_to(self.path)
            raise RewardMachineError(f"{self.path}: the folder is not empty: it holds '{name}'; choose another with -o")

    def _foreign(self) -> Path | None:
        """Something in the folder that no run has written, if there is anything."""
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
        """Removes what a run left that never got to its settings. The folder is locked."""
        self.check_free()
        WrittenFiles(self.path).forget()

    def check_run(self) -> None:
        """Checks that there is a run.

        Raises:
            RewardMachineError: There is none.
        """
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


def machine_text(hierarchy: Hierarchy) -> str:
    """A machine file in JSON, as `save` writes it."""
    return json.dumps(plain(hierarchy), indent=2) + "\n"


def file_name(name: str) -> str:
    """A name that every file system takes, different for different tasks."""
    return quote(name, safe=" +&")


def _lock(descriptor: int) -> bool:
    """Whether the file could be locked: until it is closed, or the process ends in whatever way."""
    try:
        import fcntl
    except ImportError:  # not on Unix: it goes without
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
