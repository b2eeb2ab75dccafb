"""The folder of a run: the paths of its files, its lock, and the checks before a run is begun or resumed."""

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
"""The folders that a run makes before its settings are written."""


class FolderInUseError(RewardMachineError):
    """Another process writes to the folder of a run."""


@dataclass(frozen=True)
class RunFolder(ABC):
    """The folder of a run, with the files that runs of all commands have."""

    path: Path

    @property
    def config(self) -> Path:
        """The settings of the run. A folder with this file is a run."""
        return self.path / "config.json"

    @property
    def machines(self) -> Path:
        """The folder of machine files."""
        return self.path / "machines"

    def machine(self, task: str) -> Path:
        """The machine file of a task."""
        return self.machines / f"{file_name(task)}.json"

    @property
    def metrics(self) -> Path:
        """The metrics of every chunk, a line for each row."""
        return self.path / "metrics.jsonl"

    @property
    def timing(self) -> Path:
        """The time at which each chunk was done."""
        return self.path / "timing.jsonl"

    @property
    def events(self) -> Path:
        """The folder of event files for TensorBoard."""
        return self.path / "events"

    @property
    def checkpoint(self) -> Path:
        """The state with which the run can go on."""
        return self.path / "checkpoint.safetensors"

    @property
    def bank(self) -> Path:
        """The bank of skills that the run was begun with, if it was begun with one."""
        return self.path / "bank"

    @property
    def report(self) -> Path:
        """The folder of the report."""
        return self.path / "report"

    @property
    def lock(self) -> Path:
        """The file that the process that writes the run has locked."""
        return self.path / "run.lock"

    def check_free(self) -> None:
        """Checks that a new run may be written here: nothing is there but what a run left that was killed as it began.

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
        """A file or folder that no run has written, if there is one."""
        written = WrittenFiles(self.path)
        ours = {self.lock, self.bank, self.path / RECORD, *self._leftovers(), *written.owned()}
        begun = [folder for name in _BEGUN if (folder := self.path / name).is_dir()]
        children = (child for folder in (self.path, *begun) for child in sorted(folder.iterdir()))
        return next((child for child in children if child not in ours and child not in begun), None)

    def _leftovers(self) -> Iterator[Path]:
        """The unfinished files that a killed process of this run has left."""
        names = tuple(path.name for path in (self.config, self.metrics, self.timing, self.checkpoint))
        policies = ("policies.safetensors", "policies-best.safetensors")
        return leftovers(self.path, (*names, *policies), (*_BEGUN, "report", "report/machines"))

    def begin(self) -> None:
        """Removes what a run left that was killed before its settings were written. The folder must be locked.

        Raises:
            RewardMachineError: There is a run already, or something that no run has written.
        """
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
        """Makes the folder and locks it, so that no other process writes a run there inside the block.

        Raises:
            RewardMachineError: The folder cannot be written to.
            FolderInUseError: Another process has locked it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = self.lock.open("a")
        except OSError as problem:
            raise RewardMachineError(f"{self.path}: cannot be written to ({problem.strerror})") from None
        with file:
            if not _lock(file.fileno()):
                raise FolderInUseError(f"{self.path}: another process is training there right now")
            for part in self._leftovers():
                part.unlink(missing_ok=True)
            yield


def machine_text(hierarchy: Hierarchy) -> str:
    """The text of a machine file in JSON, as `save` writes it."""
    return json.dumps(plain(hierarchy), indent=2) + "\n"


def file_name(name: str) -> str:
    """A file name that every file system accepts, different for different tasks."""
    return quote(name, safe=" +&")


def _lock(descriptor: int) -> bool:
    """Locks a file until it is closed or the process ends, and returns whether that was possible."""
    try:
        import fcntl
    except ImportError:  # other systems than Unix have no such lock
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
