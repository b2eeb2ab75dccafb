"""What happened, line by line: `metrics.jsonl`, in which equal runs are equal, `timing.jsonl`, and TensorBoard."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardmachines.agents.records import from_plain, to_plain
from rewardmachines.agents.session import Row
from rewardmachines.core.errors import SyntaxProblem


@dataclass(frozen=True)
class Moment:
    """When a chunk was done."""

    steps: int
    seconds: float
    """Since the run began; pauses do not count."""


def read_rows(path: Path) -> list[Row]:
    return list(read_records(Row, path))


def read_moments(path: Path) -> list[Moment]:
    return list(read_records(Moment, path))


def read_records(kind: Any, path: Path) -> Iterator[Any]:
    """A last line without an end is still being written, or was when the process was killed."""
    if not path.exists():
        return
    *lines, _ = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        try:
            content = json.loads(line)
        except (json.JSONDecodeError, RecursionError):
            raise SyntaxProblem(f"{where}: damaged, this is not JSON") from None
        yield from_plain(kind, content, where)


class Lines:
    """A file that only grows, a JSON object a line."""

    def __init__(self, path: Path, length: int) -> None:
        """Cuts off what is beyond `length`: it was written after the checkpoint."""
        self._file = path.open("ab")
        if self._file.tell() < length:
            found = self._file.tell()
            self._file.close()
            raise SyntaxProblem(f"{path}: damaged, it has {found:,} bytes, but the checkpoint knows of {length:,}")
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


class Events:
    """For TensorBoard, where tensorboardX is installed."""

    def __init__(self, folder: Path, steps: int) -> None:
        """What an earlier process wrote of later steps is no longer shown."""
        self._writer: Any = None
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            return
        self._writer = SummaryWriter(str(folder), purge_step=steps + 1 if steps else None, max_queue=1000)

    def add(self, scalars: Mapping[str, float], steps: int) -> None:
        """What things were after so many steps, by name."""
        if self._writer is not None:
            for name, value in scalars.items():
                self._writer.add_scalar(name, value, steps)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def scalars(row: Row) -> dict[str, float]:
    """What TensorBoard shows of a row."""
    found = {
        "episodes": row.episodes,
        "exploration": row.exploration,
        "loss of formulas": row.formula_loss,
        "loss of calls": row.call_loss,
    }
    if row.ended:
        found["goals while exploring"] = row.goals / row.ended
    if row.mean_return is not None and row.lengths is not None:
        found["greedy return"] = row.mean_return
        found["greedy length"] = sum(row.lengths) / len(row.lengths)
    return {f"{name}/seed {row.seed}": value for name, value in found.items()}
