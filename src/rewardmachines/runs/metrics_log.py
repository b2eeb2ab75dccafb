"""What happened in a run, line by line: `metrics.jsonl`, in which equal runs are equal, and `timing.jsonl`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.files import write_aside
from rewardmachines.runs.records import from_plain, to_plain
from rewardmachines.runs.written import set_aside, tell

_MANY: Final = 2**63
"""More than any run counts, and more than arrays can hold."""
Check: TypeAlias = Callable[[Any], str | None]
"""Says what is wrong with a record, if anything is."""


@dataclass(frozen=True)
class Moment:
    """When a chunk was done."""

    steps: int
    seconds: float
    """Since the run began; pauses do not count."""


def read_records(kind: Any, path: Path, check: Check | None = None) -> Iterator[Any]:
    """Reads the lines of a file that may still be growing.

    A last line without an end is still being written, or was when the process was killed.

    Args:
        kind: The dataclass of each line.
        path: The file; there are no records if there is none.
        check: What else must hold of a record.

    Raises:
        SyntaxProblem: A line is damaged; the message names it.
    """
    if not path.exists():
        return
    *lines, _ = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        yield _record(kind, line, f"{path}, line {number}", check)


def _record(kind: Any, line: bytes, where: str, check: Check | None) -> Any:
    try:
        content = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):  # ValueError: also for numbers with thousands of digits
        raise SyntaxProblem(f"{where}: damaged, this is not JSON") from None
    record = from_plain(kind, content, where)
    if large := next((name for name, value in vars(record).items() if type(value) is int and value >= _MANY), None):
        raise SyntaxProblem(f"{where}: damaged, '{large}' is larger than anything that was ever counted")
    if check is not None and (problem := check(record)) is not None:
        raise SyntaxProblem(f"{where}: damaged, {problem}")
    return record


@dataclass(frozen=True)
class Expected:
    """What a file of lines held when the checkpoint was written."""

    kind: Any
    """Of its records."""
    position: str
    """The field by which records follow each other."""
    last: int = 0
    """Its value in the last record."""
    records: int = 0
    length: int = 0
    """In bytes."""
    check: Check | None = None


class Lines:
    """A file that only grows, a JSON object a line."""

    def __init__(self, path: Path, expected: Expected) -> None:
        """Cuts off what was written after the checkpoint. What is missing before it is told, and left out."""
        if not _is_whole(path, expected):
            _mend(path, expected)
            length = path.stat().st_size
        else:
            length = expected.length
        self._file = path.open("ab")
        self._file.truncate(length)

    def add(self, records: Iterable[object]) -> None:
        self._file.write("".join(json.dumps(to_plain(record)) + "\n" for record in records).encode())
        self._file.flush()

    def settle(self) -> int:
        """Everything is on the disk; so many bytes."""
        os.fsync(self._file.fileno())
        return self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        self._file.close()


def _is_whole(path: Path, expected: Expected) -> bool:
    """Whether the file is as long as it was at the checkpoint, and makes sense so far.

    Lines may be missing all the same: they were lost earlier, and that was told.
    """
    if not expected.length:
        return True
    data = path.read_bytes()[: expected.length] if path.exists() else b""
    return len(data) == expected.length and data == _joined(_readable(data, expected)[0])


def _mend(path: Path, expected: Expected) -> None:
    """Keeps the records that can be read; the file as it was is kept too, if it holds anything else."""
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
    """Lines up to the checkpoint, none earlier than the one before, and how many there are that make no sense."""
    *lines, _ = data.split(b"\n")
    kept: list[bytes] = []
    position, bad = 0, 0
    for line in lines:
        try:
            record = _record(expected.kind, line, "", expected.check)
        except RewardMachineError:
            bad += 1
            continue
        if position <= (its := getattr(record, expected.position)) <= expected.last:
            kept.append(line)
            position = its
    return kept, bad
