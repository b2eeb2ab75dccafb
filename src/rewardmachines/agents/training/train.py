"""Training in a folder: it can be watched, killed and resumed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.resumable import ResumableTraining
from rewardmachines.agents.training.rows import Row, read_rows
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.spec import TrainOrder, TrainSpec
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.runs.budget import EVALUATIONS, Budget
from rewardmachines.runs.config_file import difference
from rewardmachines.runs.loop import chunks_in_folder

Callback = Callable[[Sequence[Row]], object]


def train(
    folder: str | Path,
    spec: TrainSpec | None = None,
    hierarchy: Hierarchy | None = None,
    steps: int | None = None,
    *,
    episodes: int | None = None,
    seconds: float | None = None,
    callbacks: Sequence[Callback] = (),
    stop_at: float | None = None,
    resume: bool = False,
) -> TrainRun:
    """Trains in a new folder, or goes on in one, until every seed has had its steps or episodes, or is good enough.

    Args:
        folder: Where the run is kept.
        spec: What is trained; not needed to resume.
        hierarchy: That of the task; the library's, if not given.
        steps: How many each seed may take.
        episodes: How many each seed may take.
        seconds: How long the run may take; pauses do not count.
        callbacks: Each is called with the rows of every chunk.
        stop_at: The mean return of three evaluations that is good enough for every seed; 0 for never.
        resume: Whether to go on with the run in the folder.

    Returns:
        The run as it is on disk.

    Raises:
        RewardMachineError: There is a run already, or none to resume, or it was begun with other settings.
    """
    rows_of_chunks = training_rows(
        folder, spec, hierarchy, steps, episodes=episodes, seconds=seconds, stop_at=stop_at, resume=resume
    )
    with closing(rows_of_chunks):
        for rows in rows_of_chunks:
            for callback in callbacks:
                callback(rows)
    return load_run(folder)


def training_rows(
    folder: str | Path,
    spec: TrainSpec | None = None,
    hierarchy: Hierarchy | None = None,
    steps: int | None = None,
    *,
    episodes: int | None = None,
    seconds: float | None = None,
    stop_at: float | None = None,
    resume: bool = False,
) -> Generator[Sequence[Row]]:
    """Trains, and yields the rows of every chunk. Whoever stops asking leaves a checkpoint behind.

    To resume, nothing but the folder is needed: what was asked for when the run began holds, except for what is given
    anew: how long (steps, episodes and seconds go together), and `stop_at`.

    Args:
        folder: Where the run is kept.
        spec: What is trained; not needed to resume.
        hierarchy: That of the task; the library's, if not given.
        steps: After how many a seed is done, at the end of a chunk.
        episodes: After how many a seed is done, at the step in which the last of them ends.
        seconds: After how many the run ends, at the end of a chunk; pauses do not count.
        stop_at: The mean return of three consecutive evaluations with which it ends early, if every seed has it; 0 for
            never.
        resume: Whether to go on with the run in the folder.
    """
    place, budget = TrainFolder(Path(folder)), Budget(steps, episodes, seconds)
    if resume:
        order, tree = _order_again(place, spec, hierarchy, budget, stop_at)
    else:
        place.check_free()
        if spec is None:
            raise RewardMachineError("a new run needs a spec, and a number of steps, of episodes or of seconds")
        order, tree = TrainOrder(spec, budget, stop_at), hierarchy or spec.scenario().task(spec.task)
    session = Session(order.spec, tree, order.budget)
    _ = session.problem  # what is wrong with it is said before anything is written
    end = _End(order, session, place)
    chunks = chunks_in_folder(
        place,
        ResumableTraining(session, place),
        lambda: place.write_order(order, tree),
        end.is_reached,
        resume=resume,
    )
    with closing(chunks):
        for rows, _ in chunks:
            end.note(rows)
            yield rows


def _order_again(
    place: TrainFolder, spec: TrainSpec | None, hierarchy: Hierarchy | None, budget: Budget, stop_at: float | None
) -> tuple[TrainOrder, Hierarchy]:
    """What a run is resumed with: a budget that is given anew replaces the old one."""
    order, tree = place.read_order()
    if spec is not None and (differs := difference(spec, order.spec)):
        raise RewardMachineError(f"{place.path}: the run was begun with other settings: {differs}")
    if hierarchy is not None and hierarchy != tree:
        raise RewardMachineError(f"{place.path}: the run was begun with another hierarchy")
    stop_at = order.stop_at if stop_at is None else stop_at
    return TrainOrder(order.spec, budget if budget.is_limited else order.budget, stop_at), tree


class _End:
    """When a run ends: with its budget, or when every seed has had evaluations in a row whose mean is good enough."""

    def __init__(self, order: TrainOrder, session: Session, folder: TrainFolder) -> None:
        self._order, self._session, self._folder = order, session, folder
        seeds = range(order.spec.seed, order.spec.seed + order.spec.seeds)
        self._returns = {seed: deque[float](maxlen=EVALUATIONS) for seed in seeds}
        self._unsolved = set(seeds)
        self._has_read = False

    def is_reached(self, seconds: float) -> bool:
        """Whether a run that has taken so many seconds is over."""
        if not self._has_read:  # by now, the rows in the file are those before the checkpoint
            self.note(read_rows(self._folder.metrics, self._order.spec))
            self._has_read = True
        limit = self._order.budget.seconds
        is_late = limit is not None and seconds >= limit
        return is_late or not self._unsolved or bool(self._session.is_finished.all())

    def note(self, rows: Iterable[Row]) -> None:
        """Takes the evaluations among the rows of a chunk into account."""
        for row in rows:
            if row.mean_return is not None and self._order.stop_at:
                returns = self._returns[row.seed]
                returns.append(row.mean_return)
                if len(returns) == EVALUATIONS and sum(returns) / EVALUATIONS >= self._order.stop_at:
                    self._unsolved.discard(row.seed)
