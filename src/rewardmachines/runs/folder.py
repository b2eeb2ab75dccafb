"""The folder of a run: its files, its lock, and the checks before a run is begun or resumed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import bank_of_run, copy_bank
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import plain, write_aside
from rewardmachines.files.writing import file_name, is_aside, lock
from rewardmachines.runs.config import RunConfig
from rewardmachines.runs.config_file import load_config, save_config
from rewardmachines.runs.messages import tell

_SUBFOLDERS: Final = ("machines", "examples", "report", "report/machines")
"""The folders in which a run writes files with arbitrary names."""
_FILES: Final = (
    "config.json",
    "metrics.jsonl",
    "timing.jsonl",
    "checkpoint.safetensors",
    "policies.safetensors",
    "policies-best.safetensors",
    "diagnosis.json",
)
"""The files that a run writes beside these folders."""


class FolderInUseError(RewardMachineError):
    """Another process writes to the folder of a run."""


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run."""

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

    def example_file(self, task: str) -> Path:
        """The file of the traces that the machine of a task was learned from."""
        return self.path / "examples" / f"{file_name(task)}.jsonl"

    @property
    def policies(self) -> Path:
        """The networks of the policies of all tasks."""
        return self.path / "policies.safetensors"

    @property
    def best_policies(self) -> Path:
        """The policies with the highest mean return so far; only runs in Gymnasium environments have it."""
        return self.path / "policies-best.safetensors"

    @property
    def diagnosis(self) -> Path:
        """The file that says why tasks are not learned, if there is anything to say."""
        return self.path / "diagnosis.json"

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
        ours = {self.lock, self.bank, *self._leftovers()}
        return next((child for child in sorted(self.path.iterdir()) if child not in ours), None)

    def _leftovers(self) -> Iterator[Path]:
        """The unfinished files that a killed process of this run has left."""
        return leftovers(self.path, (*_FILES, self.bank.name), _SUBFOLDERS)

    def write_config(self, config: RunConfig, hierarchies: Mapping[str, Hierarchy], bank: Bank | None) -> None:
        """Copies the bank, and then writes the config, with which the folder becomes a run.

        Args:
            config: The config of the run.
            hierarchies: The hierarchies of tasks, where they are given.
            bank: The bank of skills that it begins with, if there is one.
        """
        if bank is not None:
            copy_bank(bank, self.bank)
        save_config(self.config, config, hierarchies)
        for name in ("machines", "examples"):
            (self.path / name).mkdir(exist_ok=True)

    def read_config(self) -> tuple[RunConfig, dict[str, Hierarchy]]:
        """Reads the config of the run, and the hierarchies that are given.

        Raises:
            RewardMachineError: There is no such run, or it is damaged.
        """
        self.check_run()
        return load_config(self.config)

    def read_bank(self, config: RunConfig) -> Bank | None:
        """Reads the bank of skills that the run was begun with, if it was begun with one.

        Raises:
            RewardMachineError: It is missing, damaged or another one.
        """
        return None if config.bank is None else bank_of_run(self.bank, config.bank)

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
            RewardMachineError: The folder cannot be written to, or a file or subfolder of the run lies elsewhere.
            FolderInUseError: Another process has locked it.
        """
        if os.path.lexists(self.lock) and not is_plain(self.lock):
            raise RewardMachineError(f"{self.lock}: this is no file, and not what a run wrote there; delete it")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = self.lock.open("a")
        except OSError as problem:
            raise RewardMachineError(f"{self.path}: cannot be written to ({problem.strerror})") from None
        with file:
            if not lock(file.fileno()):
                raise FolderInUseError(f"{self.path}: another process writes there right now")
            self.check_inside()
            for part in self._leftovers():
                shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)
            yield

    def check_inside(self) -> None:
        """Checks that what the run writes lies inside: a link could lead to files of other runs, or to any others.

        Raises:
            RewardMachineError: There is a link that leads out of the folder.
        """
        folders = [self.path / name for name in (*_SUBFOLDERS, self.bank.name, self.events.name)]
        files = [self.path / name for name in _FILES]
        # In those of machines and examples, users may have links of their own: what has the name of a task makes way.
        files += [file for name in ("report", "report/machines") for file in (self.path / name).glob("*")]
        for path in folders + files:
            if not path.resolve().is_relative_to(self.path.resolve()):
                raise RewardMachineError(f"{path}: a link that leads out of the folder of the run; delete the link")


def machine_text(hierarchy: Hierarchy) -> str:
    """The text of a machine file in JSON, as `save` writes it."""
    return json.dumps(plain(hierarchy), indent=2) + "\n"


# -- files that a run writes by name: what has such a name in its folder is the run's, if it is a file


def write_file(path: Path, content: str) -> None:
    """Writes a file of the run, unless it has that content already. A folder or link by that name is renamed."""
    if is_plain(path) and path.read_bytes() == content.encode():
        return
    _make_way(path)
    write_aside(path, content)


def remove_file(path: Path) -> None:
    """Deletes a file of the run, if it exists. A folder or link by that name is renamed."""
    _make_way(path)
    path.unlink(missing_ok=True)


def is_plain(path: Path) -> bool:
    """Whether the path is a file, and no link to one."""
    return path.is_file() and not path.is_symlink()


def _make_way(path: Path) -> None:
    if os.path.lexists(path) and not is_plain(path):
        kept = set_aside(path)
        tell(f"{path}: this is no file, and not what the run wrote there; it is kept as {kept.name}")


def set_aside(path: Path) -> Path:
    """Renames a file, so that its name is free.

    Returns:
        The new path: the old name with `.old` appended, and with a number if that name is taken.
    """
    number, kept = 1, path.with_name(f"{path.name}.old")
    while os.path.lexists(kept):
        number += 1
        kept = path.with_name(f"{path.name}.old{number}")
    path.rename(kept)
    return kept


# -- the inventory: unfinished files of killed processes, and a description of the run for people


def leftovers(folder: Path, names: tuple[str, ...], subfolders: tuple[str, ...]) -> Iterator[Path]:
    """The unfinished files, and the unfinished copy of a bank, of processes that were killed while they wrote them.

    Args:
        folder: The folder of the run.
        names: The names of files and folders that runs write there; unfinished ones of other names are ignored.
        subfolders: The subfolders in which runs write files with arbitrary names.
    """
    for path in folder.glob(".*.part"):
        if any(is_aside(path, name) for name in names) and (is_plain(path) or _is_bank(path)):
            yield path
    for subfolder in subfolders:
        yield from (path for path in (folder / subfolder).glob(".*.part") if is_aside(path) and is_plain(path))


def _is_bank(path: Path) -> bool:
    return is_aside(path, "bank") and path.is_dir() and not path.is_symlink()


def describe_run(config: Path, metrics: Path) -> str:
    """Describes a run that is in the way of a new one, and the command that resumes it.

    Args:
        config: The file of its config.
        metrics: The file of its metrics.
    """
    try:
        found, _ = load_config(config)
    except RewardMachineError as problem:
        return f"what it is cannot be told ({problem}); delete the folder, or choose another with -o"
    command = "learn" if found.learns_machines else "train"
    resume = f"type: hrm {command} --resume -o {shlex.quote(str(config.parent))}, or pass resume=True"
    return f"it is {found.title}, {steps_so_far(metrics):,} steps so far; to go on with it, {resume}"


def steps_so_far(metrics: Path) -> int:
    """The number of steps in the last line of the metrics that can be read; 0 if there is none."""
    return int(_last(metrics, "steps"))


def seconds_so_far(timing: Path) -> float:
    """The seconds in the last line of the timing that can be read; 0 if there is none."""
    return float(_last(timing, "seconds"))


_TAIL: Final = 1_000_000
"""The number of bytes at the end of the metrics that surely hold a whole line."""


def _last(path: Path, name: str) -> int | float:
    """The number of that name in the last line that has one; 0 if there is none."""
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        *lines, _ = file.read().decode("utf-8", "replace").split("\n")
    for line in reversed(lines):
        try:
            number = json.loads(line)[name]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        if type(number) in (int, float):
            return number  # type: ignore[no-any-return]
    return 0


# -- several seeds


def folder_of_seed(folder: RunFolder, seed: int) -> RunFolder:
    """The folder of one of several seeds: its name is that of the given folder, and the seed."""
    if not folder.path.name:
        raise RewardMachineError(f"{folder.path}: folders of several seeds need a name, such as runs/mine")
    return RunFolder(folder.path.parent / f"{folder.path.name}-{seed}")


def folders_of_seeds(folder: RunFolder) -> dict[int, RunFolder]:
    """The runs of several seeds that were begun, by their seeds; `folder` is the common beginning of their names."""
    found, prefix = dict[int, RunFolder](), f"{folder.path.name}-"
    for path in folder.path.parent.iterdir() if folder.path.parent.is_dir() else ():
        number = path.name.removeprefix(prefix)
        is_seed = path.name.startswith(prefix) and number.isdecimal() and number.isascii()
        if is_seed and RunFolder(path).config.exists():
            found[int(number)] = RunFolder(path)
    return dict(sorted(found.items()))
