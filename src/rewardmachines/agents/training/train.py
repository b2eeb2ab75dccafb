"""Training in a folder, which can be watched, interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rewardmachines.agents.bank.bank import Bank, agreed_digest
from rewardmachines.agents.bank.files import any_bank
from rewardmachines.agents.bank.task import task_with_bank
from rewardmachines.agents.setup import is_zero_shot
from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.resumable import ResumableTraining
from rewardmachines.agents.training.rows import Row, read_rows
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.spec import TrainOrder, TrainSpec
from rewardmachines.agents.training.success import Success
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import difference
from rewardmachines.runs.loop import chunks_in_folder

Callback = Callable[[Sequence[Row]], object]
"""Called with the rows of every chunk, one for each seed."""


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
    bank: Bank | str | Path | None = None,
) -> TrainRun:
    """Trains in a new folder, or resumes a run, until the budget is spent or every seed is good enough.

    Args:
        folder: The folder of the run.
        spec: The specification; not needed to resume.
        hierarchy: The hierarchy of the task; without one, that of the library.
        steps: The steps that each seed may take.
        episodes: The episodes that each seed may take.
        seconds: The time that the run may take, in which pauses do not count.
        callbacks: Functions that are called with the rows of every chunk.
        stop_at: The mean return in three consecutive evaluations that is good enough for every seed; 0 for never.
        resume: Whether to go on with the run in the folder.
        bank: A bank of skills, or its folder. See `training_rows`.

    Returns:
        The run as it is on disk.

    Raises:
        RewardMachineError: There is a run already, or none to resume, or it was begun with other settings.
    """
    rows_of_chunks = training_rows(
        folder, spec, hierarchy, steps, episodes=episodes, seconds=seconds, stop_at=stop_at, resume=resume, bank=bank
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
    bank: Bank | str | Path | None = None,
) -> Generator[Sequence[Row]]:
    """Trains, and yields the rows of every chunk. If the generator is closed before the end, a checkpoint is written.

    To resume, only the folder is needed: the settings with which the run was begun hold. A new `stop_at` replaces the
    old one, and new limits (of steps, episodes and seconds together) replace the old ones.

    With a bank of skills, agents begin with its policies, and only what is not in the bank is learned. If that is
    nothing, not a single step is taken: the policies in the folder are those of the bank.

    Args:
        folder: The folder of the run.
        spec: The specification; not needed to resume.
        hierarchy: The hierarchy of the task; without one, that of the library.
        steps: The steps after which a seed is done, at the end of a chunk.
        episodes: The episodes after which a seed is done, at the step in which the last of them ends.
        seconds: The time after which the run ends, at the end of a chunk; pauses do not count.
        stop_at: The mean return in three consecutive evaluations with which the run ends early, once every seed has
            reached it; 0 for never.
        resume: Whether to go on with the run in the folder.
        bank: A bank of skills, or its folder; a copy of it is kept in the folder of the run, so that nobody needs it to
            resume. The specification must have the bank's networks: see `standard_spec`. Without a hierarchy, the task
            is an expression over propositions and machines of the bank.

    Yields:
        The rows of a chunk, one for each seed.

    Raises:
        RewardMachineError: There is a run already, or none to resume, or it was begun with other settings.
    """
    files, budget = TrainFolder(Path(folder)), Budget(steps, episodes, seconds)
    skills = any_bank(bank)
    if spec is not None:
        spec = replace(spec, bank=agreed_digest(spec.bank, skills))
    if resume:
        order, tree = _order_again(files, spec, hierarchy, budget, stop_at)
        skills = files.read_bank(order.spec)
    else:
        files.check_free()
        if spec is None:
            raise RewardMachineError("a new run needs a spec, and a number of steps, of episodes or of seconds")
        order, tree = TrainOrder(spec, budget, stop_at), hierarchy or _hierarchy(spec, skills)
    session = Session(order.spec, tree, order.budget, skills)
    _ = session.problem  # so that mistakes are found before anything is written
    end = _End(order, session, files)
    chunks = chunks_in_folder(
        files,
        ResumableTraining(session, files),
        lambda: files.write_order(order, tree, skills),
        end.is_reached,
        resume=resume,
    )
    with closing(chunks):
        for rows, _ in chunks:
            end.note(rows)
            yield rows


def _hierarchy(spec: TrainSpec, bank: Bank | None) -> Hierarchy:
    """The hierarchy of a task of the domain, or of a task that uses a bank."""
    scenario = spec.elsewhere().scenario()
    return scenario.task(spec.task) if bank is None else task_with_bank(bank, scenario, spec.task)


def _order_again(
    files: TrainFolder, spec: TrainSpec | None, hierarchy: Hierarchy | None, budget: Budget, stop_at: float | None
) -> tuple[TrainOrder, Hierarchy]:
    """The order with which a run is resumed: new limits replace the old ones."""
    order, tree = files.read_order()
    if spec is not None and (differs := difference(spec, order.spec)):
        raise RewardMachineError(f"{files.path}: the run was begun with other settings: {differs}")
    if hierarchy is not None and hierarchy != tree:
        raise RewardMachineError(f"{files.path}: the run was begun with another hierarchy")
    stop_at = order.stop_at if stop_at is None else stop_at
    return TrainOrder(order.spec, budget if budget.is_limited else order.budget, stop_at), tree


class _End:
    """Decides when a run ends: when its budget is spent, or when every seed had good enough consecutive evaluations."""

    def __init__(self, order: TrainOrder, session: Session, folder: TrainFolder) -> None:
        self._order, self._session, self._folder = order, session, folder
        self._success = Success(order.spec.seed_range, order.stop_at)
        self._has_read = False

    def is_reached(self, seconds: float) -> bool:
        """Whether the run, which has taken so many seconds, is over."""
        if not self._has_read:  # by now, the file has been cut back to the checkpoint
            self.note(read_rows(self._folder.metrics, self._order.spec.seed_range, self._order.spec.instances))
            self._has_read = True
        limit = self._order.budget.seconds
        is_late = limit is not None and seconds >= limit
        is_late |= is_zero_shot(self._session.problem)
        return is_late or self._success.is_reached or bool(self._session.is_finished.all())

    def note(self, rows: Iterable[Row]) -> None:
        """Takes the evaluations among the rows of a chunk into account."""
        self._success.note(rows)
