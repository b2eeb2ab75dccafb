"""The loop over the chunks of a run that is a folder, or of several runs that advance together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Generic, TypeVar

from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.interrupt import defer_interrupt, hear_interrupt
from rewardmachines.runs.journal import Journal, Resumable
from rewardmachines.runs.metrics_log import Moment

R = TypeVar("R")
"""The dataclass of rows."""


def chunks_in_folder(
    folder: RunFolder,
    run: Resumable[R],
    write_settings: Callable[[], None],
    is_over: Callable[[float], bool],
    *,
    resume: bool,
) -> Generator[tuple[Sequence[R], Moment]]:
    """Computes chunks until the run is over. If the generator is closed before, a checkpoint is written.

    Args:
        folder: The folder of the run, which stays locked meanwhile.
        run: The computation, which has not begun; if there is a checkpoint in the folder, it goes on from there.
        write_settings: Writes `config.json` and the files that belong to it.
        is_over: Called with the seconds that the run has taken; returns whether it is over.
        resume: Whether to go on with the run in the folder. Otherwise the folder must be free.

    Yields:
        The rows of each chunk, and the moment at which it was done.
    """
    with folder.writable():
        if not resume:
            folder.begin()
        write_settings()
        with closing(Journal(folder, run)) as journal, hear_interrupt(defers=True):
            yield from _chunks(journal, is_over)


def _chunks(journal: Journal[R], is_over: Callable[[float], bool]) -> Iterator[tuple[Sequence[R], Moment]]:
    while not is_over(journal.seconds):
        try:
            with defer_interrupt():
                rows, moment = journal.advance()
            yield rows, moment
        except (KeyboardInterrupt, GeneratorExit):
            journal.checkpoint()
            raise
    journal.checkpoint()


@dataclass(frozen=True)
class RunInFolder(Generic[R]):
    """One of several runs that advance together. The fields are the arguments of `chunks_in_folder`."""

    folder: RunFolder
    run: Resumable[R]
    write_settings: Callable[[], None]
    is_over: Callable[[float], bool]


def chunks_in_folders(
    runs: Sequence[RunInFolder[R]], advance: Callable[[Sequence[int]], Sequence[R]], *, resume: bool
) -> Generator[tuple[int, R, Moment]]:
    """Computes chunks of several runs together until all are over. Each ends by itself, and the others go on.

    If the generator is closed before, checkpoints of all are written.

    Args:
        runs: The runs, none of which has begun. Those with a checkpoint in their folder go on from there.
        advance: Computes a chunk of the runs with these numbers, and returns a row for each.
        resume: Whether to go on with the runs in the folders. Otherwise all folders must be free.

    Yields:
        The number of a run, the row of its last chunk, and the moment at which that was done.
    """
    with ExitStack() as stack:
        for each in runs:
            stack.enter_context(each.folder.writable())
        if not resume:
            for each in runs:
                each.folder.begin()
        for each in runs:
            each.write_settings()
        opened = (Journal(each.folder, each.run, runs=len(runs)) for each in runs)
        journals = [stack.enter_context(closing(journal)) for journal in opened]
        stack.enter_context(hear_interrupt(defers=True))
        yield from _rounds(runs, journals, advance)


def _rounds(
    runs: Sequence[RunInFolder[R]],
    journals: Sequence[Journal[R]],
    advance: Callable[[Sequence[int]], Sequence[R]],
) -> Iterator[tuple[int, R, Moment]]:
    while True:
        is_over = [each.is_over(journal.seconds) for each, journal in zip(runs, journals, strict=True)]
        _checkpoints([journal for journal, over in zip(journals, is_over, strict=True) if over])
        numbers = [number for number, over in enumerate(is_over) if not over]
        if not numbers:
            return
        try:
            with defer_interrupt():
                for number in numbers:
                    journals[number].begin_chunk()
                rows = advance(numbers)
                done = [(n, row, journals[n].record([row])) for n, row in zip(numbers, rows, strict=True)]
            yield from done
        except (KeyboardInterrupt, GeneratorExit):
            _checkpoints(journals)
            raise


def _checkpoints(journals: Sequence[Journal[R]]) -> None:
    """Writes a checkpoint of each run that has anything new."""
    for journal in journals:
        journal.checkpoint()
