"""The journal of a run: it writes metrics after every chunk, and a checkpoint from time to time.

A run depends on its settings alone. What a killed process had computed since the last checkpoint is therefore not lost:
the next process computes the same again. A checkpoint only saves the time that this takes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, Protocol, TypeVar

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.checkpoint import Checkpoint, Marks, read_checkpoint, write_checkpoint
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.metrics_log import Check, Expected, Lines, Moment
from rewardmachines.runs.tensorboard import Events

CHECKPOINT_SECONDS: Final = 20
"""The least time between two checkpoints, in seconds."""
NEWS_SECONDS: Final = 5
"""The least time between two checkpoints when a chunk brought something that may take long to compute again."""

R = TypeVar("R")
"""The dataclass of rows."""


class Urgency(Enum):
    """How soon a checkpoint should follow a chunk."""

    NONE = "none"
    """No checkpoint may follow this chunk."""
    USUAL = "usual"
    """A checkpoint follows if the last one is `CHECKPOINT_SECONDS` old."""
    NEWS = "news"
    """A checkpoint follows if the last one is `NEWS_SECONDS` old."""


@dataclass(frozen=True)
class LineFormat:
    """The format of the lines in the files of a run."""

    row: Any
    """The dataclass of a line of `metrics.jsonl`. Its field `chunk` counts chunks."""
    rows: int
    """The number of rows of each chunk."""
    check: Check
    """A check of each row beyond its types."""
    moment: type[Moment] = Moment
    """The dataclass of a line of `timing.jsonl`."""


class Resumable(Protocol[R]):
    """A computation in chunks that can stop between any two of them and go on in another process."""

    @property
    def lines(self) -> LineFormat:
        """The format of its rows and moments."""

    @property
    def snapshot_type(self) -> type[Any]:
        """The dataclass of its snapshots."""

    @property
    def chunks(self) -> int:
        """The number of chunks that are done."""

    @property
    def steps(self) -> int:
        """The number of environment steps that were taken in them."""

    def advance(self) -> Sequence[R]:
        """Computes one chunk, and returns its rows."""

    def moment(self, seconds: float) -> Moment:
        """The record of the moment at which the last chunk was done, after so many seconds."""

    def scalars(self, row: R) -> tuple[int, Mapping[str, float]]:
        """The number of steps of a row, and the values that TensorBoard shows there, by name."""

    def urgency(self, rows: Sequence[R]) -> Urgency:
        """How soon a checkpoint should follow the chunk with these rows."""

    def snapshot(self) -> object:
        """All of its state that is not on the device, as a dataclass that JSON can hold."""

    def device_state(self) -> Any:
        """All of its state that is on the device, as a tree of arrays."""

    def restore(self, checkpoint: Checkpoint[Any]) -> None:
        """Restores the state that was written to a checkpoint."""

    def write_machines(self, rows: Sequence[R] | None) -> None:
        """Writes the machines that the chunk with these rows has changed; all of them, if rows is None."""

    def write_policies(self, marks: Marks) -> None:
        """Writes the networks that policies need to act, just before a checkpoint with these marks."""


class Journal(Generic[R]):
    """Writes the files of a run in one process. It never changes the run, except to restore it from a checkpoint."""

    def __init__(self, folder: RunFolder, run: Resumable[R], *, runs: int = 1) -> None:
        """Restores the run from its checkpoint, if there is one, and opens its files.

        Args:
            folder: The folder of the run, which must be locked.
            run: The computation, which has not begun.
            runs: The number of runs that advance together. Checkpoints are so many times rarer: all runs wait while
                one of them is written, so that they take the same share of the time as those of a single run.
        """
        self._folder, self._run, self._runs = folder, run, runs
        has_checkpoint = folder.checkpoint.exists()
        marks = self._restore() if has_checkpoint else Marks()
        self._metrics, self._timing = self._open(marks)
        self._events = Events(folder.events, run.steps)
        run.write_machines(None)
        self._began = time.monotonic() - marks.seconds
        self._saved_at = time.monotonic()
        self._saved_chunks = run.chunks if has_checkpoint else -1
        self._is_whole = True

    def _restore(self) -> Marks:
        path = self._folder.checkpoint
        try:
            checkpoint: Checkpoint[Any] = read_checkpoint(path, self._run.snapshot_type)
            self._run.restore(checkpoint)
        except RewardMachineError as problem:
            raise RewardMachineError(f"{problem}; without this file, the run would start from its beginning") from None
        return checkpoint.marks

    def _open(self, marks: Marks) -> tuple[Lines, Lines]:
        """The files of metrics and timing, cut back to the checkpoint."""
        run, lines, chunks = self._run, self._run.lines, self._run.chunks
        rows = Expected(
            kind=lines.row,
            position="chunk",
            last=chunks,
            records=chunks * lines.rows,
            length=marks.metrics,
            check=lines.check,
        )
        moments = Expected(lines.moment, "steps", run.steps, chunks, length=marks.timing)
        return Lines(self._folder.metrics, rows), Lines(self._folder.timing, moments)

    @property
    def seconds(self) -> float:
        """The time that the run has taken, in which pauses do not count."""
        return time.monotonic() - self._began

    def advance(self) -> tuple[Sequence[R], Moment]:
        """Computes one chunk and writes its rows, and a checkpoint if the last one is old enough.

        Returns:
            The rows of the chunk, and the moment at which it was done.
        """
        self.begin_chunk()
        rows = self._run.advance()
        return rows, self.record(rows)

    def begin_chunk(self) -> None:
        """Notes that the run is in the middle of a chunk. There is no checkpoint until its rows are recorded."""
        self._is_whole = False

    def record(self, rows: Sequence[R]) -> Moment:
        """Writes the rows of a chunk that is done, and a checkpoint if the last one is old enough.

        Args:
            rows: The rows of the chunk.

        Returns:
            The moment at which it was done.
        """
        moment = self._run.moment(round(self.seconds, 3))
        self._metrics.add(rows)
        self._timing.add([moment])
        for row in rows:
            steps, scalars = self._run.scalars(row)
            self._events.add(scalars, steps)
        self._run.write_machines(rows)
        self._is_whole = True
        if self._is_due(self._run.urgency(rows)):
            self.checkpoint()
        return moment

    def _is_due(self, urgency: Urgency) -> bool:
        if urgency is Urgency.NONE:
            return False
        wait = NEWS_SECONDS if urgency is Urgency.NEWS else CHECKPOINT_SECONDS
        return time.monotonic() - self._saved_at >= self._runs * wait

    def checkpoint(self) -> None:
        """Writes policies and a checkpoint, unless there is nothing new or a chunk was interrupted in the middle."""
        run = self._run
        if not self._is_whole or run.chunks == self._saved_chunks:
            return
        marks = Marks(self._metrics.settle(), self._timing.settle(), self.seconds)
        run.write_policies(marks)
        write_checkpoint(self._folder.checkpoint, run.device_state(), run.snapshot(), marks)
        self._saved_at, self._saved_chunks = time.monotonic(), run.chunks

    def close(self) -> None:
        """Closes all files."""
        for file in (self._metrics, self._timing, self._events):
            file.close()
