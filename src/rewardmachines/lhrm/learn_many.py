"""Several runs of LHRM side by side, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import cast

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.learn import order_of, prepare
from rewardmachines.lhrm.resumable import Chunk, LearnMoment
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.side_by_side import RunsSideBySide
from rewardmachines.lhrm.spec import LearnSpec
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.loop import chunks_in_folders

Callback = Callable[[int, Chunk], object]
"""Called with the number of a run and with every chunk of it."""


def learn_many(
    folders: Sequence[str | Path],
    specs: Sequence[LearnSpec] | None = None,
    *,
    stop_at: float | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    episodes: int | None = None,
    callbacks: Sequence[Callback] = (),
    resume: bool = False,
) -> list[LearnRun]:
    """Learns machines and policies in several runs side by side, each in a folder of its own, or resumes them.

    Arguments as for `rewardmachines.learn`, but for these:

    Args:
        folders: The folders of the runs.
        specs: Their specifications, which differ in seeds and instances only; not needed to resume.
        stop_at: The mean return with which a run ends, once all of its tasks have it.
        steps: The steps that each run may take.
        seconds: The time that each run may take, the time of those beside it included.
        episodes: The episodes that each run may take.
        callbacks: Functions that are called with the number of a run and with every chunk of it.
        resume: Whether to go on with the runs in the folders.

    Returns:
        The runs as they are on disk.

    Raises:
        RewardMachineError: A run cannot begin or go on, or the runs have different tasks or settings.
    """
    chunks = learning_rows_of_many(
        folders, specs, stop_at=stop_at, steps=steps, seconds=seconds, episodes=episodes, resume=resume
    )
    with closing(chunks):
        for number, chunk in chunks:
            for callback in callbacks:
                callback(number, chunk)
    return [load_learning(folder) for folder in folders]


def learning_rows_of_many(
    folders: Sequence[str | Path],
    specs: Sequence[LearnSpec] | None = None,
    *,
    stop_at: float | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    episodes: int | None = None,
    resume: bool = False,
) -> Generator[tuple[int, Chunk]]:
    """Learns in several runs side by side, and yields every chunk. Arguments as for `learn_many`.

    Each run is a run like any other: it ends by itself, and can be resumed alone or with others. If the generator is
    closed before the end, a checkpoint of each is written. The metrics are those that a run has alone, but for the last
    digits of sums, which a program for many runs may compute in another order.

    Yields:
        The number of a run, and a chunk of it.

    Raises:
        RewardMachineError: A run cannot begin or go on, or the runs have different tasks or settings.
    """
    files = [LearnFolder(Path(folder)) for folder in folders]
    if not files or (specs is not None and len(specs) != len(files)):
        raise RewardMachineError(f"as many specs as folders are needed, and at least one, not {len(specs or ())}")
    asked = [None] * len(files) if specs is None else specs
    budget = Budget(steps, episodes, seconds)
    orders = [order_of(own, spec, stop_at, budget, resume=resume) for own, spec in zip(files, asked, strict=True)]
    with ExitStack() as stack:
        prepared = [
            prepare(own, order, stack.enter_context(Solvers())) for own, order in zip(files, orders, strict=True)
        ]
        together = RunsSideBySide([each.run for each in prepared])
        chunks = chunks_in_folders([each.parts for each in prepared], together.advance, resume=resume)
        with closing(chunks):
            for number, row, moment in chunks:
                yield number, Chunk(prepared[number].run, row, cast("LearnMoment", moment))
