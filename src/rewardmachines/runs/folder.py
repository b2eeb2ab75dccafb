"""The folder of a run: the paths of its files, its lock, and the checks before a run is begun or resumed."""

from __future__ import annotations

import json
import shutil
from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import plain
from rewardmachines.files.writing import lock
from rewardmachines.runs.inventory import describe_run, leftovers
from rewardmachines.runs.written import is_plain

_BEGUN: Final = ("machines", "examples", "policies")
"""The folders that a run makes before its settings are written."""
_SUBFOLDERS: Final = (*_BEGUN, "report", "report/machines")
"""The folders in which a run writes files with arbitrary names."""
_LONGEST: Final = 250
"""The number of bytes of the lock that are read: no longer name can be that of a file."""


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
        ours = {self.lock, self.bank, self._begun_machine(), *self._leftovers()}
        begun = [folder for name in _BEGUN if (folder := self.path / name).is_dir()]
        children = (child for folder in (self.path, *begun) for child in sorted(folder.iterdir()))
        return next((child for child in children if child not in ours and child not in begun), None)

    def _leftovers(self) -> Iterator[Path]:
        """The unfinished files that a killed process of this run has left."""
        names = tuple(path.name for path in (self.config, self.metrics, self.timing, self.checkpoint, self.bank))
        policies = ("policies.safetensors", "policies-best.safetensors")
        return leftovers(self.path, (*names, *policies), _SUBFOLDERS)

    def begin(self) -> None:
        """Removes what a run left that was killed before its settings were written. The folder must be locked.

        Raises:
            RewardMachineError: There is a run already, or something that no run has written.
        """
        self.check_free()
        if (machine := self._begun_machine()) is not None:
            machine.unlink()

    def note_machine(self, task: str) -> None:
        """Notes in the lock that a machine file is going to be written, before there are settings that tell the task.

        If the process is killed before it writes them, the next run knows by this whose the file is.
        """
        self.lock.write_text(file_name(task), encoding="utf-8")

    def _begun_machine(self) -> Path | None:
        """The machine file of a run that was killed before its settings were written, if there is one."""
        if not is_plain(self.lock):
            return None
        with self.lock.open("rb") as file:
            name = file.read(_LONGEST).decode("utf-8", "replace")
        # Another name than those that runs note would lead out of the folder.
        path = self.machines / f"{name}.json"
        return path if name == file_name(unquote(name)) and is_plain(path) else None

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
            RewardMachineError: The folder cannot be written to, or a subfolder lies elsewhere.
            FolderInUseError: Another process has locked it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = self.lock.open("a")
        except OSError as problem:
            raise RewardMachineError(f"{self.path}: cannot be written to ({problem.strerror})") from None
        with file:
            if not lock(file.fileno()):
                raise FolderInUseError(f"{self.path}: another process is training there right now")
            self._check_inside()
            for part in self._leftovers():
                shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)
            yield

    def _check_inside(self) -> None:
        """Checks that the subfolders lie inside: a link could lead to files of other runs, with the same names."""
        for folder in (self.path / name for name in (*_SUBFOLDERS, self.bank.name, self.events.name)):
            if not folder.resolve().is_relative_to(self.path.resolve()):
                raise RewardMachineError(f"{folder}: a link that leads out of the folder of the run; delete the link")


def machine_text(hierarchy: Hierarchy) -> str:
    """The text of a machine file in JSON, as `save` writes it."""
    return json.dumps(plain(hierarchy), indent=2) + "\n"


def file_name(name: str) -> str:
    """A file name that every file system accepts, different for different tasks."""
    return quote(name, safe=" +&")
