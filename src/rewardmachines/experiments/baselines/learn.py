"""Runs a baseline in a folder, which can be watched, interrupted and resumed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.experiments.baselines.folder import FlatFolder
from rewardmachines.experiments.baselines.resumable import ResumableFlat
from rewardmachines.experiments.baselines.rows import FlatMoment, FlatRow
from rewardmachines.experiments.baselines.run import FlatRun, load_flat
from rewardmachines.experiments.baselines.session import FlatSession
from rewardmachines.experiments.baselines.spec import EPISODES, LEARNER_SECONDS, BaselineOrder, BaselineSpec
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import difference
from rewardmachines.runs.loop import chunks_in_folder


@dataclass(frozen=True)
class FlatChunk:
    """What a chunk of episodes brought."""

    row: FlatRow | None
    """The metrics; None if the time for searches was up, which ends the run."""
    moment: FlatMoment


def learn_flat(
    folder: str | Path,
    spec: BaselineSpec | None = None,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    learner_seconds: float | None = None,
    resume: bool = False,
) -> FlatRun:
    """Runs a baseline in a new folder, or resumes a run, until it is over. See `flat_rows`.

    Args:
        folder: The folder of the run.
        spec: The specification; not needed to resume.
        episodes: The episodes that the run may take; without any limit, as many as in the paper.
        steps: The environment steps that it may take.
        seconds: The time that it may take, in which pauses do not count.
        learner_seconds: The time that its searches may take; as long as in the paper, if not given.
        resume: Whether to go on with the run in the folder.

    Returns:
        The run as it is on disk.

    Raises:
        RewardMachineError: There is a run already, or none to resume, or it was begun with other settings.
    """
    budget = Budget(steps, episodes, seconds)
    with closing(flat_rows(folder, spec, budget, learner_seconds=learner_seconds, resume=resume)) as chunks:
        for _ in chunks:
            pass
    return load_flat(folder)


def flat_rows(
    folder: str | Path,
    spec: BaselineSpec | None = None,
    budget: Budget | None = None,
    *,
    learner_seconds: float | None = None,
    resume: bool = False,
) -> Generator[FlatChunk]:
    """Runs a baseline, and yields every chunk. If the generator is closed before the end, a checkpoint is written.

    The run ends when its budget is spent, when the method fails to find a machine within its bounds, or when its
    searches have taken too long. To resume, only the folder is needed; new limits replace the old ones.

    Args:
        folder: The folder of the run.
        spec: The specification; not needed to resume.
        budget: The limits of episodes, steps and time; 150,000 episodes, if not given.
        learner_seconds: The time that searches may take; 7200 seconds, if not given.
        resume: Whether to go on with the run in the folder.

    Yields:
        What each chunk of episodes brought.

    Raises:
        RewardMachineError: There is a run already, or none to resume, or it was begun with other settings.
    """
    files, budget = FlatFolder(Path(folder)), budget or Budget()
    if resume:
        order = _order_again(files, spec, budget, learner_seconds)
        if _has_too_little_time(files, order):
            return
    else:
        files.check_free()
        if spec is None:
            raise RewardMachineError("a new run needs a spec")
        budget = budget if budget.is_limited else Budget(episodes=EPISODES)
        order = BaselineOrder(spec, budget, learner_seconds or LEARNER_SECONDS)
    yield from _chunks(files, order, resume=resume)


def _chunks(files: FlatFolder, order: BaselineOrder, *, resume: bool) -> Generator[FlatChunk]:
    session = FlatSession(order)

    def is_over(seconds: float) -> bool:
        tally = session.tally
        is_spent = order.budget.is_spent(tally.steps, tally.episodes, seconds)
        return is_spent or tally.failed or session.is_interrupted

    run = ResumableFlat(session, files, order.spec.task)
    chunks = chunks_in_folder(files, run, lambda: files.write_order(order), is_over, resume=resume)
    with closing(session.searches), closing(chunks):
        for rows, moment in chunks:
            yield FlatChunk(rows[0] if rows else None, cast("FlatMoment", moment))


def _order_again(
    files: FlatFolder, spec: BaselineSpec | None, budget: Budget, learner_seconds: float | None
) -> BaselineOrder:
    """The order with which a run is resumed: new limits replace the old ones."""
    order = files.read_order()
    if spec is not None and (differs := difference(spec, order.spec)):
        raise RewardMachineError(f"{files.path}: the run was begun with other settings: {differs}")
    return BaselineOrder(
        order.spec, budget if budget.is_limited else order.budget, learner_seconds or order.learner_seconds
    )


def _has_too_little_time(files: FlatFolder, order: BaselineOrder) -> bool:
    """Whether the run was interrupted, and has no more time for searches now: then it would only end again."""
    run = FlatRun(files.path, order)
    return run.is_interrupted and order.learner_seconds <= run.learner_seconds
