"""The inventory of a run's folder: a description of the run for people, and unfinished files of killed processes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.writing import is_aside
from rewardmachines.runs.config_file import load_config
from rewardmachines.runs.written import is_plain

_TAIL: Final = 1_000_000
"""The number of bytes at the end of the metrics that surely hold a whole line."""


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
