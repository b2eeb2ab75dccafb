"""The record of the files that a run has written: a run replaces and deletes no others."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Final

from rewardmachines.files import write_aside

RECORD: Final = "written.jsonl"
"""The name of the record in the folder of a run."""


class WrittenFiles:
    """The record of the files that a run wrote, each with the digest of its content.

    A file is recorded before it is written, so that what a killed process left behind is recognized. Whatever is not
    recorded, or has changed since, belongs to somebody else: where it is in the way, it is renamed, never deleted.
    """

    def __init__(self, folder: Path) -> None:
        """Reads the record of a run's folder, if there is one."""
        self._folder, self._record = folder, folder / RECORD
        self._digests: dict[str, set[str]] = {}
        for line in _lines(self._record):
            self._note(line)

    def _note(self, line: str) -> None:
        """Takes a line of the record into account. If it cannot be read, its file does not count as the run's."""
        try:
            name, digest = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            return
        if isinstance(name, str) and isinstance(digest, str):
            self._digests.setdefault(name, set()).add(digest)

    def owns(self, path: Path) -> bool:
        """Whether the file exists and has a content that the run has once written."""
        digests = self._digests.get(self._name(path))
        return digests is not None and path.is_file() and not path.is_symlink() and _digest(path) in digests

    def owned(self) -> list[Path]:
        """All files of the record that still exist as they were written."""
        return [path for name in sorted(self._digests) if self.owns(path := self._folder / name)]

    def write(self, path: Path, content: str) -> None:
        """Writes a file of the run, unless it has that content already."""
        digest, name = hashlib.sha256(content.encode()).hexdigest(), self._name(path)
        is_written = path.is_file() and _digest(path) == digest
        if not is_written:
            self._make_way(path)
        if digest not in self._digests.get(name, ()):
            self._append(json.dumps([name, digest]))
        if not is_written:
            write_aside(path, content)

    def remove(self, path: Path) -> None:
        """Deletes a file of the run. A file of somebody else by that name is renamed."""
        if self.owns(path):
            path.unlink()
        else:
            self._make_way(path)

    def forget(self) -> None:
        """Deletes all files of the record, and then the record."""
        for path in self.owned():
            path.unlink()
        self._record.unlink(missing_ok=True)
        self._digests.clear()

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def _append(self, line: str) -> None:
        with self._record.open("a", encoding="utf-8") as file:
            # A line that was broken off by a kill must not swallow this one.
            file.write(f"\n{line}\n")
            file.flush()
            os.fsync(file.fileno())
        self._note(line)

    def _make_way(self, path: Path) -> None:
        """Renames a file of somebody else that is in the way."""
        if os.path.lexists(path) and not self.owns(path):
            kept = set_aside(path)
            tell(f"{path}: this is not what the run wrote there; it is kept as {kept.name}")


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


def tell(message: str) -> None:
    """Prints a line to standard error on what happened to a file of the run."""
    print(message, file=sys.stderr, flush=True)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n") if path.is_file() else []


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
