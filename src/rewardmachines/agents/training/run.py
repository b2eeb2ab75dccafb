"""Training runs that are folders: they can be watched, killed, resumed, evaluated, and acted with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import jax
import jax.numpy as jnp

from rewardmachines.agents.loop import TrainingState
from rewardmachines.agents.policy import Policy
from rewardmachines.agents.training.checkpoint import read_policy
from rewardmachines.agents.training.folder import Folder
from rewardmachines.agents.training.journal import Journal
from rewardmachines.agents.training.metrics import Moment, read_moments, read_rows
from rewardmachines.agents.training.session import Budget, Row, Session, Spec
from rewardmachines.agents.training.spec import Order
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.runs.config_file import difference
from rewardmachines.runs.interrupt import defer_interrupt

if TYPE_CHECKING:
    from rewardmachines.envs.gymnasium.single import ScenarioEnv

EVALUATIONS: Final = 3
"""Whose mean must be good enough."""

Callback = Callable[[list[Row]], object]


@dataclass(frozen=True)
class Evaluation:
    """One greedy episode in each instance, by the policy of one seed."""

    seed: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class Run:
    """A run on disk."""

    folder: Path
    spec: Spec
    hierarchy: Hierarchy
    steps: int | None
    """How many were asked for, for each seed."""
    stop_at: float | None
    episodes: int | None = None
    """The same."""

    @cached_property
    def _alone(self) -> Session:
        """With a single seed."""
        return Session(replace(self.spec, seeds=1), self.hierarchy)

    @property
    def seeds(self) -> range:
        return _seeds(self.spec)

    def rows(self) -> list[Row]:
        """What happened so far, a row for each chunk and seed."""
        return read_rows(Folder(self.folder).metrics, self.spec)

    def moments(self) -> list[Moment]:
        """When each chunk was done."""
        return read_moments(Folder(self.folder).timing)

    def evaluate(self) -> list[Evaluation]:
        """Every seed's policy, greedily, in all instances."""
        learned = [self._learned(seed) for seed in self.seeds]
        agents = [agent for agent, _ in learned]
        agent = agents[0] if len(agents) == 1 else jax.tree.map(lambda *leaves: jnp.stack(leaves), *agents)
        session, nothing = Session(self.spec, self.hierarchy), cast("Any", None)
        session.state = TrainingState(agent, nothing, nothing)
        session.tally.chunks = learned[0][1]  # chance, where policies leave anything to it, is that of the last chunk
        returns, lengths = session.evaluate()
        return [
            Evaluation(seed, tuple(map(float, returns[s])), tuple(map(int, lengths[s])))
            for s, seed in enumerate(self.seeds)
        ]

    def policy(self, task: str, seed: int | None = None) -> Policy:
        """Acts on observations; that of the first seed, if not said."""
        if task != self.spec.task:
            known = self.spec.task
            raise RewardMachineError(f"{self.folder}: there is no policy for '{task}'; it has learned '{known}'")
        if seed is not None and seed not in self.seeds:
            raise RewardMachineError(
                f"{self.folder}: there is no seed {seed}; there are {', '.join(map(str, self.seeds))}"
            )
        agent, _ = self._learned(self.spec.seed if seed is None else seed)
        return Policy(self._alone.problem, agent)

    def _learned(self, seed: int) -> tuple[Any, int]:
        path = Folder(self.folder).policy(self.spec.task, seed)
        if not path.exists():
            raise RewardMachineError(f"{self.folder}: there is no policy of seed {seed} yet")
        return read_policy(path, self._alone.state.agent)

    def environment(self, instance: int | None = None, render_mode: str | None = None) -> ScenarioEnv:
        """Where it was trained, as a Gymnasium environment."""
        from rewardmachines.envs.gymnasium.single import (
            ScenarioEnv,  # here, because training runs where Gymnasium is not installed
        )

        spec = self.spec
        return ScenarioEnv(
            spec.domain,
            spec.setting,
            self.hierarchy,
            instance=instance,
            instances=spec.instances,
            base_seed=spec.instance_seed,
            observation=spec.config.observation,
            max_steps=spec.max_steps,
            render_mode=render_mode,
        )


def load_run(folder: str | Path) -> Run:
    """A run of `train`, finished or not.

    Args:
        folder: Where it was made.

    Raises:
        RewardMachineError: There is no such run.
    """
    order, hierarchy = Folder(Path(folder)).read_order()
    return Run(Path(folder), order.spec, hierarchy, order.steps, order.stop_at, order.episodes)


def train(
    folder: str | Path,
    spec: Spec | None = None,
    hierarchy: Hierarchy | None = None,
    steps: int | None = None,
    *,
    episodes: int | None = None,
    callbacks: Sequence[Callback] = (),
    stop_at: float | None = None,
    resume: bool = False,
) -> Run:
    """Trains in a new folder, or goes on in one, until every seed has had its steps or episodes, or is good enough.

    Args:
        folder: Where the run is kept.
        spec: What is trained; not needed to resume.
        hierarchy: That of the task; the library's, if not given.
        steps: How many each seed may take.
        episodes: How many each seed may take.
        callbacks: Each is told the rows of every chunk.
        stop_at: The mean return of three evaluations that is good enough for every seed; 0 for never.
        resume: Whether to go on with the run in the folder.

    Returns:
        The run as it is on disk.

    Raises:
        RewardMachineError: There is a run already, or none to resume, or it was begun with other settings.
    """
    with closing(
        training_rows(folder, spec, hierarchy, steps, episodes=episodes, stop_at=stop_at, resume=resume)
    ) as chunks:
        for rows in chunks:
            for callback in callbacks:
                callback(rows)
    return load_run(folder)


def training_rows(
    folder: str | Path,
    spec: Spec | None = None,
    hierarchy: Hierarchy | None = None,
    steps: int | None = None,
    *,
    episodes: int | None = None,
    stop_at: float | None = None,
    resume: bool = False,
) -> Generator[list[Row]]:
    """Trains, and gives the rows of every chunk. Whoever stops asking leaves a checkpoint behind.

    To resume, nothing but the folder is needed: what was asked for when the run began holds, except for what is given
    anew: how long, and `stop_at`.

    Args:
        folder: Where the run is kept.
        spec: What is trained; not needed to resume.
        hierarchy: That of the task; the library's, if not given.
        steps: After how many a seed is done, at the end of a chunk.
        episodes: After how many a seed is done, at the step in which the last of them ends.
        stop_at: The mean return of three consecutive evaluations with which it ends early, if every seed has it; 0 for
            never.
        resume: Whether to go on with the run in the folder.
    """
    place = Folder(Path(folder))
    if resume:
        order, tree = _asked_again(place, spec, hierarchy, Budget(steps, episodes), stop_at)
    else:
        place.check_free()
        if spec is None or (steps is None and episodes is None):
            raise RewardMachineError("a new run needs a spec and a number of steps, or of episodes")
        order, tree = Order(spec, steps, stop_at, episodes), hierarchy or spec.scenario().task(spec.task)
    session = Session(order.spec, tree, order.budget)
    _ = session.problem  # what is wrong with it is told before anything is written
    with place.writable():
        if not resume:
            place.begin()
        place.write_order(order, tree)
        with closing(Journal(place, session)) as journal:
            yield from _chunks(order, session, journal, read_rows(place.metrics, order.spec))


def _asked_again(
    place: Folder, spec: Spec | None, hierarchy: Hierarchy | None, budget: Budget, stop_at: float | None
) -> tuple[Order, Hierarchy]:
    """What a run is resumed with: a budget that is given anew replaces the old one."""
    order, tree = place.read_order()
    if spec is not None and (differs := difference(spec, order.spec)):
        raise RewardMachineError(f"{place.path}: the run was begun with other settings: {differs}")
    if hierarchy is not None and hierarchy != tree:
        raise RewardMachineError(f"{place.path}: the run was begun with another hierarchy")
    budget = order.budget if budget == Budget() else budget
    stop_at = order.stop_at if stop_at is None else stop_at
    return Order(order.spec, budget.steps, stop_at, budget.episodes), tree


def _chunks(order: Order, session: Session, journal: Journal, earlier: Sequence[Row]) -> Iterator[list[Row]]:
    judge = _Judge(order)
    judge.hear(earlier)
    while not session.is_finished.all() and not judge.is_content:
        try:
            with defer_interrupt():
                rows = journal.advance()
            judge.hear(rows)
            yield rows
        except (KeyboardInterrupt, GeneratorExit):
            journal.checkpoint()
            raise
    journal.checkpoint()


def _seeds(spec: Spec) -> range:
    return range(spec.seed, spec.seed + spec.seeds)


class _Judge:
    """Waits until every seed has had some evaluations in a row whose mean is good enough."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._last = {seed: deque[float](maxlen=EVALUATIONS) for seed in _seeds(order.spec)}
        self._waiting = set(self._last)

    def hear(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if row.mean_return is not None and self._order.stop_at:
                last = self._last[row.seed]
                last.append(row.mean_return)
                if len(last) == EVALUATIONS and sum(last) / EVALUATIONS >= self._order.stop_at:
                    self._waiting.discard(row.seed)

    @property
    def is_content(self) -> bool:
        return not self._waiting
