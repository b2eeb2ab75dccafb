"""The loop over the chunks of a run that is a folder."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import TypeVar

from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.interrupt import defer_interrupt
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
        with closing(Journal(folder, run)) as journal:
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
