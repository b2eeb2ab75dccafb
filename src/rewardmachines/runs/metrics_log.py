"""The logs of a run, a record a line: `metrics.jsonl`, which is equal for equal runs, and `timing.jsonl`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.files import write_aside
from rewardmachines.files.document import parse_json
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.runs.messages import tell
from rewardmachines.runs.written import set_aside

Check: TypeAlias = Callable[[Any], str | None]
"""Returns what is wrong with a record, in words, or None."""


@dataclass(frozen=True)
class TimingRow:
    """The time at which a chunk was done."""

    steps: int
    """The environment steps that were taken by then."""
    seconds: float
    """The time since the run began, in which pauses do not count."""
    learner_seconds: float = 0.0
    """The part of it that searches for machines took."""


def read_records(kind: Any, path: Path, check: Check | None = None) -> Iterator[Any]:
    """Reads the lines of a file that may still be growing.

    A last line without an end is left out: it is still being written, or was when the process was killed.

    Args:
        kind: The dataclass of each line.
        path: The file; if it does not exist, there are no records.
        check: A check of each record beyond its types.

    Raises:
        SyntaxProblem: A line is damaged; the message names it.
    """
    if not path.exists():
        return
    *lines, _ = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        yield _record(kind, line, f"{path}, line {number}", check)


def _record(kind: Any, line: bytes, where: str, check: Check | None) -> Any:
    record = from_plain(kind, parse_json(line.decode("utf-8", "replace"), where), where)
    if check is not None and (problem := check(record)) is not None:
        raise SyntaxProblem(f"{where}: damaged, {problem}")
    return record


@dataclass(frozen=True)
class Expected:
    """The content that a log had when the checkpoint was written."""

    kind: Any
    """The dataclass of its records."""
    position: str
    """The name of the field that never decreases from record to record."""
    last: int = 0
    """The value of this field in the last record."""
    records: int = 0
    """The number of records."""
    length: int = 0
    """The length of the file in bytes."""
    check: Check | None = None
    """A check of each record beyond its types."""


class Lines:
    """A log that only grows, with a JSON object in each line."""

    def __init__(self, path: Path, expected: Expected) -> None:
        """Opens a log and cuts off what was written after the checkpoint.

        If records from before the checkpoint are damaged or missing, a message says so, and the log goes on without
        them.

        Args:
            path: The file.
            expected: The content that it had at the checkpoint.
        """
        if not _is_whole(path, expected):
            _mend(path, expected)
            length = path.stat().st_size
        else:
            length = expected.length
        self._file = path.open("ab")
        self._file.truncate(length)

    def add(self, records: Iterable[object]) -> None:
        """Appends a line for each record."""
        self._file.write("".join(json.dumps(to_plain(record)) + "\n" for record in records).encode())
        self._file.flush()

    def settle(self) -> int:
        """Makes sure that everything is on the disk, and returns the length of the file in bytes."""
        os.fsync(self._file.fileno())
        return self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def _is_whole(path: Path, expected: Expected) -> bool:
    """Whether the file is at least as long as it was at the checkpoint, and can be read up to there.

    Lines that an earlier process has found to be lost may still be missing.
    """
    if not expected.length:
        return True
    data = path.read_bytes()[: expected.length] if path.exists() else b""
    return len(data) == expected.length and data == _joined(_readable(data, expected)[0])


def _mend(path: Path, expected: Expected) -> None:
    """Rewrites a log with the records that can be read. If there were others, the old file is kept under a new name."""
    lines, bad = _readable(path.read_bytes() if path.exists() else b"", expected)
    lost = max(expected.records - len(lines), 0)
    message = f"{path}: damaged, {lost:,} of {expected.records:,} lines are lost; the run goes on without them"
    if bad:
        message += f" (the file as it was is kept as {set_aside(path).name})"
    write_aside(path, _joined(lines))
    tell(message)


def _joined(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _readable(data: bytes, expected: Expected) -> tuple[list[bytes], int]:
    """The readable lines up to the checkpoint whose positions do not decrease, and the number of unreadable lines."""
    *lines, _ = data.split(b"\n")
    kept: list[bytes] = []
    position, bad = 0, 0
    for line in lines:
        try:
            record = _record(expected.kind, line, "", expected.check)
        except RewardMachineError:
            bad += 1
            continue
        if position <= (reached := getattr(record, expected.position)) <= expected.last:
            kept.append(line)
            position = reached
    return kept, bad
