"""Files that a run writes by name: what has such a name in the folder of a run is the run's, if it is a file."""

from __future__ import annotations

import os
from pathlib import Path

from rewardmachines.files import write_aside
from rewardmachines.runs.messages import tell


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
