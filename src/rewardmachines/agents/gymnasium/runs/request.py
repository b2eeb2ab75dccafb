"""What is asked of training in Gymnasium environments: a new run, or that the one in a folder goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace

from rewardmachines.agents.algorithms import check_config
from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.gymnasium.environments import MAX_STEPS, check_longest
from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.gymnasium.policy import AnyEnv
from rewardmachines.agents.gymnasium.runs.episodes import TrainedTask
from rewardmachines.agents.gymnasium.runs.folder import TrainGymnasiumFolder
from rewardmachines.agents.gymnasium.runs.resumable import ResumableTrainGymnasium
from rewardmachines.agents.gymnasium.runs.session import Session, look_at
from rewardmachines.agents.gymnasium.runs.spec import (
    TrainGymnasiumOrder,
    TrainGymnasiumSpec,
    check_same,
    load_order,
    save_order,
)
from rewardmachines.agents.gymnasium.senses import Senses
from rewardmachines.agents.gymnasium.senses_record import SensesRecord
from rewardmachines.agents.gymnasium.settings import AskedConfig, settled, usual_settings
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.agents.training.rows import Row, read_rows
from rewardmachines.agents.training.success import Success
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.gymnasium.checks.labels import read_labels
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.loop import chunks_in_folder
from rewardmachines.runs.named_function import name_of


@dataclass(frozen=True)
class Request:
    """What is asked for. None stands for what is usual, or for what a run that is resumed was begun with."""

    make_env: Callable[[], AnyEnv] | None
    hierarchy: Hierarchy | None
    task: str | None
    algorithm: Algorithm | None
    config: AskedConfig
    network: NetworkConfig | None
    labels: Iterable[Iterable[str]] | None
    encode: Encode | None
    seed: int | None
    instances: int | None
    max_steps: int | None
    stop_at: float | None
    environments: int | None = None
    """The number of environments side by side, if it is not that of the settings."""
    budget: Budget = field(default_factory=Budget)
    """The limits of the run."""

    @property
    def needs_episodes(self) -> bool:
        """Whether episodes must be begun one by one: for evaluations, instances, or a limit of steps."""
        return any(value is not None for value in (self.task, self.instances, self.max_steps, self.stop_at))


@dataclass(frozen=True)
class Prepared:
    """A session that has not begun, and the order that it carries out."""

    order: TrainGymnasiumOrder
    session: Session


def prepare_session(request: Request, files: TrainGymnasiumFolder | None, *, resume: bool) -> Prepared:
    """Completes a request, checks it, and opens its session. Nothing is written.

    Args:
        request: What is asked for.
        files: The folder of the run, if it has one.
        resume: Whether the run in the folder goes on. The module of its environment is imported if none is given.

    Raises:
        RewardMachineError: There is no run, or one is in the way; it was begun with something else; or the environment
            cannot be found or acted in.
    """
    if resume:
        assert files is not None
        return _prepare_again(request, files)
    if files is not None:
        files.check_free()
    if request.make_env is None or request.hierarchy is None:
        raise RewardMachineError("say where to act, and what is to be done: an environment and a hierarchy")
    task = TrainedTask(request.task or request.hierarchy.root, request.hierarchy, request.make_env, request.instances)
    senses = look_at(task, request.encode)
    order = TrainGymnasiumOrder(_spec(request, task, senses), request.budget, request.stop_at)
    return Prepared(order, Session(order.spec, task, request.encode))


def _prepare_again(request: Request, files: TrainGymnasiumFolder) -> Prepared:
    files.check_run()
    order, where = load_order(files.config), str(files.path)
    begun, tree = order.spec, files.read_hierarchy(order.spec.task)
    if request.hierarchy is not None and request.hierarchy != tree:
        raise RewardMachineError(f"{where}: the run was begun with another hierarchy")
    is_same = request.config is None and request.network is None and request.environments is None
    request = replace(
        request,
        make_env=request.make_env or begun.make_env(where),
        task=request.task or begun.task,
        algorithm=request.algorithm or begun.algorithm,
        config=begun.config if is_same else request.config,
        labels=begun.labels if request.labels is None else request.labels,
        encode=begun.senses.encode(where) if request.encode is None else request.encode,
        seed=begun.seed if request.seed is None else request.seed,
        instances=request.instances or begun.instances,
        max_steps=request.max_steps or begun.max_steps,
    )
    assert request.make_env is not None
    task = TrainedTask(request.task or begun.task, tree, request.make_env, request.instances)
    spec = _spec(request, task, look_at(task, request.encode))
    check_same(spec, begun, where)
    budget = request.budget if request.budget.is_limited else order.budget
    stop_at = order.stop_at if request.stop_at is None else request.stop_at
    return Prepared(TrainGymnasiumOrder(spec, budget, stop_at), Session(spec, task, request.encode))


def _spec(request: Request, task: TrainedTask, senses: Senses) -> TrainGymnasiumSpec:
    """The specification of what a request asks for in an environment that was looked at."""
    algorithm = request.algorithm or Algorithm.HRL
    if isinstance(request.config, AgentConfig):
        check_config(algorithm, request.config)
    if request.max_steps is not None:
        check_longest(request.max_steps)
    limits = [limit for limit in (request.max_steps, senses.limit) if limit is not None]
    usual = usual_settings(algorithm, senses.reading, min(limits, default=None))
    config = settled(request.config, usual, request.network, senses.reading.shape)
    seen = None if request.labels is None else read_labels(request.labels, senses.propositions)
    return TrainGymnasiumSpec(
        task=task.name,
        env=name_of(task.made_by),
        senses=SensesRecord.of(senses),
        labels=None if seen is None else tuple(tuple(sorted(label)) for label in seen),
        algorithm=algorithm,
        config=config if request.environments is None else replace(config, environments=request.environments),
        seed=request.seed or 0,
        instances=request.instances,
        max_steps=MAX_STEPS if request.max_steps is None else request.max_steps,
    )


class _Ending:
    """Decides when a run ends: when its budget is spent, or when its last evaluations were good enough."""

    def __init__(self, order: TrainGymnasiumOrder, session: Session, files: TrainGymnasiumFolder | None) -> None:
        self._order, self._session = order, session
        self._unread = files
        self._success = Success(order.spec.seeds, order.stop_at)

    def is_reached(self, seconds: float) -> bool:
        """Whether the run, which has taken so many seconds, is over."""
        if self._unread is not None:  # by now, the file has been cut back to the checkpoint
            spec = self._order.spec
            self._success.note(read_rows(self._unread.metrics, spec.seeds, spec.greedy_episodes))
            self._unread = None
        training = self._session.training
        is_spent = self._order.budget.is_spent(training.steps, training.episodes, seconds)
        return is_spent or self._success.is_reached

    def note(self, row: Row) -> None:
        """Takes the evaluation of a chunk into account, if there was one."""
        self._success.note([row])


def rows_of(prepared: Prepared, files: TrainGymnasiumFolder | None, *, resume: bool) -> Generator[Row]:
    """Trains until the run is over, and yields the row of every chunk.

    Args:
        prepared: The session, which has not begun, and its order.
        files: The folder of the run; without one, nothing is written.
        resume: Whether the run in the folder goes on.
    """
    order, session = prepared.order, prepared.session
    ending = _Ending(order, session, files)
    if files is None:
        began = time.monotonic()
        while not ending.is_reached(time.monotonic() - began):
            row = session.advance()
            ending.note(row)
            yield row
        return

    def write_settings() -> None:
        files.write_hierarchy(order.spec.task, session.task.hierarchy)
        save_order(order, files.config)

    resumable = ResumableTrainGymnasium(session, files)
    with closing(chunks_in_folder(files, resumable, write_settings, ending.is_reached, resume=resume)) as chunks:
        for rows, _ in chunks:
            ending.note(rows[0])
            yield rows[0]
