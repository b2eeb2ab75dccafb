"""The journal of a run: it writes metrics after every chunk, and a checkpoint from time to time.

A run depends on its config alone. What a killed process had computed since the last checkpoint is therefore not lost:
the next process computes the same again. A checkpoint only saves the time that this takes. The logs have a record a
line: `metrics.jsonl`, which is equal for equal runs, and `timing.jsonl`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.files import dump_traces, write_aside
from rewardmachines.files.document import parse_json
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.rollout.algorithm import RunsSideBySide
from rewardmachines.rollout.rows import Row, row_check, scalars
from rewardmachines.runs.checkpoint import Checkpoint, Marks, read_checkpoint, write_checkpoint, write_policies
from rewardmachines.runs.folder import RunFolder, machine_text, remove_file, set_aside, write_file
from rewardmachines.runs.interrupt import defer_interrupt, hear_interrupt
from rewardmachines.runs.messages import tell
from rewardmachines.runs.session import Session
from rewardmachines.runs.stopping import End, end_of
from rewardmachines.runs.tensorboard import Events

CHECKPOINT_SECONDS: Final = 20
"""The least time between two checkpoints, in seconds."""
NEWS_SECONDS: Final = 5
"""The least time between two checkpoints when a chunk brought a machine, whose search may have taken long."""


@dataclass(frozen=True)
class Chunk:
    """A chunk of a run, as callbacks get it."""

    session: Session
    """The run after the chunk."""
    row: Row
    """Its metrics."""
    timing: TimingRow
    """The time at which the chunk was done."""


class Journal:
    """Writes the files of a run in one process. It never changes the run, except to restore it from a checkpoint."""

    def __init__(self, folder: RunFolder, session: Session, *, runs: int = 1, keeps: bool = True) -> None:
        """Restores the run from its checkpoint, if there is one, and opens its files.

        Args:
            folder: The folder of the run, which must be locked.
            session: The run in memory, which has not begun.
            runs: The number of runs that advance together. Checkpoints are as many times rarer: all runs wait while
                one of them is written, so that they take the same share of the time as those of a single run.
            keeps: Whether there are checkpoints. Without them, only the policies are written, at the end.
        """
        self._folder, self.session, self._runs, self._keeps = folder, session, runs, keeps
        self._written: Mapping[Path, str] = {}
        has_checkpoint = folder.checkpoint.exists()
        marks = self._restore() if has_checkpoint else Marks()
        self._metrics, self._timing = self._open(marks)
        self._events = Events(folder.events, session.algorithm.counters.steps)
        self._write_machines()
        self._began = time.monotonic() - marks.seconds
        self._saved_at = time.monotonic()
        self._saved_chunks = self._chunks if has_checkpoint else -1
        self._is_whole = True

    @property
    def _chunks(self) -> int:
        return self.session.algorithm.counters.chunks

    def _restore(self) -> Marks:
        try:
            checkpoint: Checkpoint = read_checkpoint(self._folder.checkpoint)
            self.session.restore(checkpoint.state, checkpoint.device_state, checkpoint.where)
        except RewardMachineError as problem:
            raise RewardMachineError(f"{problem}; without this file, the run would start from its beginning") from None
        return checkpoint.marks

    def _open(self, marks: Marks) -> tuple[Lines, Lines]:
        """The files of metrics and timing, cut back to the checkpoint."""
        session, chunks = self.session, self._chunks
        check = row_check(session.tasks, session.suite.instances)
        rows = Expected(Row, "chunk", chunks, chunks, length=marks.metrics, check=check)
        timing = Expected(TimingRow, "steps", session.algorithm.counters.steps, chunks, length=marks.timing)
        return Lines(self._folder.metrics, rows), Lines(self._folder.timing, timing)

    @property
    def seconds(self) -> float:
        """The time that the run has taken, in which pauses do not count."""
        return time.monotonic() - self._began

    @property
    def end(self) -> End | None:
        """Why the run has ended; None while it goes on."""
        return end_of(self.session.config, self.session.algorithm, self.seconds)

    def advance(self) -> Chunk:
        """Computes one chunk and writes its row, and a checkpoint if the last one is old enough."""
        self.begin_chunk()
        return self.record(self.session.algorithm.advance())

    def begin_chunk(self) -> None:
        """Notes that the run is in the middle of a chunk. There is no checkpoint until its row is recorded."""
        self._is_whole = False

    def record(self, row: Row) -> Chunk:
        """Writes the row of a chunk that is done, and a checkpoint if the last one is old enough."""
        timing = TimingRow(row.steps, round(self.seconds, 3), round(self.session.algorithm.learner_seconds, 3))
        self._metrics.add([row])
        self._timing.add([timing])
        self._events.add(scalars(row, self.session.tasks), row.steps)
        if row.learned:
            self._write_machines()
        self._keep_best(row)
        self._is_whole = True
        wait = NEWS_SECONDS if row.learned else CHECKPOINT_SECONDS
        if time.monotonic() - self._saved_at >= self._runs * wait:
            self.checkpoint()
        return Chunk(self.session, row, timing)

    def _keep_best(self, row: Row) -> None:
        """Writes the policies if they are the best so far; only in Gymnasium environments, whose returns scatter.

        Policies of machines that were learned in this chunk begin afresh: they were not those that were judged.
        """
        session, returned = self.session, row.mean_return
        if returned is None or row.learned or session.config.gym is None:
            return
        if session.best is None or returned >= session.best:
            session.best = returned
            write_policies(self._folder.best_policies, session)

    def _write_machines(self) -> None:
        """Writes the files of all machines and of their examples, and removes those of machines that are gone.

        The files of the run's tasks are the run's; others in the same folders are left alone.
        """
        folder, session, contents = self._folder, self.session, dict[Path, str]()
        run = session.algorithm
        for name, tree in {**session.hierarchies, **run.learned_machines}.items():
            contents[folder.machine(name)] = machine_text(tree)
        for name, traces in run.learned_from.items():
            contents[folder.example_file(name)] = dump_traces(traces)
        for name in session.tasks:
            for path in (folder.machine(name), folder.example_file(name)):
                if path not in contents:
                    remove_file(path)
        for path, content in contents.items():
            if self._written.get(path) != content:
                write_file(path, content)
        self._written = contents

    def checkpoint(self) -> None:
        """Writes policies and a checkpoint, unless there is nothing new or a chunk was interrupted in the middle."""
        if not self._is_whole or self._chunks == self._saved_chunks:
            return
        marks = Marks(self._metrics.settle(), self._timing.settle(), self.seconds)
        write_policies(self._folder.policies, self.session)
        if self._keeps:
            write_checkpoint(self._folder.checkpoint, self.session, marks)
        self._saved_at, self._saved_chunks = time.monotonic(), self._chunks

    def close(self) -> None:
        """Closes all files."""
        for file in (self._metrics, self._timing, self._events):
            file.close()


@dataclass(frozen=True)
class RunInFolder:
    """A run that can begin, or go on."""

    folder: RunFolder
    session: Session
    write_config: Callable[[], None]
    """Writes `config.json`, with which the folder becomes a run."""


def chunks_in_folders(
    runs: Sequence[RunInFolder], *, resume: bool, keeps: bool = True
) -> Generator[tuple[int, Chunk]]:  # fmt: skip
    """Computes chunks of one run, or of several together, until all are over. Each ends by itself.

    If the generator is closed before, checkpoints of all are written.

    Args:
        runs: The runs, none of which has begun. Those with a checkpoint in their folder go on from there.
        resume: Whether to go on with the runs in the folders. Otherwise all folders must be free.
        keeps: Whether there are checkpoints.

    Yields:
        The number of a run, and a chunk of it.

    Raises:
        RewardMachineError: A folder is not free, or in use, or damaged; or the runs have different tasks or settings.
    """
    together = RunsSideBySide([each.session.trained for each in runs]) if len(runs) > 1 else None
    with ExitStack() as stack:
        for each in runs:
            stack.enter_context(each.folder.writable())
        if not resume:  # folders become runs when all of them are free
            for each in runs:
                each.folder.check_free()
            for each in runs:
                each.write_config()
            _tell_conversions(runs)
        opened = (Journal(each.folder, each.session, runs=len(runs), keeps=keeps) for each in runs)
        journals = [stack.enter_context(closing(journal)) for journal in opened]
        if resume:  # with other limits, and only if it can go on
            for each in runs:
                each.write_config()
        stack.enter_context(hear_interrupt(defers=True))
        yield from _rounds(journals, together)


def _tell_conversions(runs: Sequence[RunInFolder]) -> None:
    """Prints what the observations and actions of environments are made, once for all runs."""
    places = (each.session.config.gym for each in runs)
    for said in dict.fromkeys(text for place in places if place for text in place.interface.conversions):
        tell(said)


def _rounds(journals: Sequence[Journal], together: RunsSideBySide | None) -> Iterator[tuple[int, Chunk]]:
    while True:
        is_over = [journal.end is not None for journal in journals]
        _checkpoints([journal for journal, over in zip(journals, is_over, strict=True) if over])
        numbers = [number for number, over in enumerate(is_over) if not over]
        if not numbers:
            return
        try:
            with defer_interrupt():
                done = [(0, journals[0].advance())] if together is None else _together(journals, together, numbers)
            yield from done
        except (KeyboardInterrupt, GeneratorExit):
            _checkpoints(journals)
            raise


def _together(
    journals: Sequence[Journal], together: RunsSideBySide, numbers: Sequence[int]
) -> list[tuple[int, Chunk]]:  # fmt: skip
    """Computes a chunk of the runs with these numbers."""
    for number in numbers:
        journals[number].begin_chunk()
    rows = together.advance(numbers)
    return [(number, journals[number].record(row)) for number, row in zip(numbers, rows, strict=True)]


def _checkpoints(journals: Sequence[Journal]) -> None:
    """Writes a checkpoint of each run that has anything new."""
    for journal in journals:
        journal.checkpoint()


# -- logs


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
