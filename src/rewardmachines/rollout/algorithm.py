"""The interface of algorithms, which a run in a folder advances, and the common part of training and LHRM."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.rollout.jax_driver import JaxDriver
from rewardmachines.rollout.lanes import Acting, Judging, Lanes
from rewardmachines.rollout.policy import FollowedHierarchy
from rewardmachines.rollout.rows import Counters, MachineUpdate, Row, by_task_and_instance, whole_numbers
from rewardmachines.rollout.suite import Driver, TaskSuite
from rewardmachines.rollout.tables import Counts, RunState, TaskTables
from rewardmachines.traces import Trace

EVALUATIONS: Final = 3
"""The number of consecutive evaluations whose mean return decides whether a task is learned well enough."""
UNLIMITED: Final = 2**31 - 1
"""The largest number of episodes that can be counted on the device."""
Evaluation: TypeAlias = tuple[Any, Any]
"""The returns and the lengths of greedy episodes, by task and instance."""
Q = TypeVar("Q")
T = TypeVar("T")


class ChunkedRun(Protocol):
    """A run in memory, which advances in chunks. It depends on its settings and its seed, never on the clock.

    This is all that a folder, a journal and a checkpoint need of an algorithm.
    """

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, lowest level first, which is their order in rows."""

    @property
    def counters(self) -> Counters:
        """The totals so far."""

    @property
    def recent(self) -> Sequence[Any]:
        """The returns of the last evaluations, each by task and instance."""

    @property
    def learner_seconds(self) -> float:
        """The time that searches for machines have taken."""

    @property
    def learned_machines(self) -> Mapping[str, Hierarchy]:
        """The hierarchies that were learned so far, by task."""

    @property
    def learned_from(self) -> Mapping[str, Sequence[Trace]]:
        """The examples that the learned machines explain, by task."""

    @property
    def lowest_return(self) -> float | None:
        """The lowest mean return of a task in the last evaluations.

        None before the last `EVALUATIONS` evaluations, or while no learned machine can be trusted yet.
        """

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing more can be learned."""

    def advance(self) -> Row:
        """Computes one chunk, and an evaluation if it is due. Returns its row."""

    @property
    def state_type(self) -> type[Any]:
        """The dataclass of the host state, which is not on the device."""

    def host_state(self) -> Any:
        """The host state of the run, which is not on the device, as a JSON record."""

    def restore(self, state: Any, where: str) -> None:
        """Restores the host state of the run, which has just begun.

        Args:
            state: The host state.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: The state is damaged, or belongs to another run.
        """

    def close(self) -> None:
        """Ends all processes that the algorithm has started."""


class Algorithm(ABC):
    """A run that trains policies: an agent on the device acts and learns in each chunk, and the host does the rest."""

    def __init__(self, suite: TaskSuite, episodes: int | None) -> None:
        """Sets all counters to 0.

        Args:
            suite: The tasks and their environments.
            episodes: The number of episodes at which the run ends, if it has such a limit.
        """
        self.suite, self.episodes_limit = suite, episodes
        self.tasks = tuple(task.name for task in suite.tasks)
        self.counters = Counters()
        self.recent: list[Any] = []
        """The returns of the last evaluations, each by task and instance; 0 for a task that was not evaluated, or whose
        machine has changed since."""
        self._state: RunState | None = None

    @property
    @abstractmethod
    def agent_config(self) -> Any:
        """The settings of the agent."""

    # -- a chunk

    def advance(self) -> Row:
        """Computes one chunk, and an evaluation if it is due. Returns its row."""
        tables, driver = self.tables, self.driver
        state, counts = driver.chunk(tables, self.state, learns=self.learns, most=self.most_episodes)
        findings, evaluation = self.take(state, counts), None
        if self.is_due:
            evaluation = driver.evaluate(tables, state.agent, findings.evaluated, self.counters.chunks)
        return self.conclude(findings, evaluation)

    @property
    @abstractmethod
    def tables(self) -> TaskTables:
        """The tasks as arrays."""

    @property
    @abstractmethod
    def driver(self) -> Driver:
        """The driver that acts on the tables."""

    @property
    def state(self) -> RunState:
        """All arrays that change while the agent acts and learns."""
        if self._state is None:
            self._state = self._first_state()
        return self._state

    @state.setter
    def state(self, new: RunState) -> None:
        self._state = new

    @abstractmethod
    def _first_state(self) -> RunState:
        """The state of an untrained agent, or of an agent with the skills of a bank."""

    @property
    def state_shapes(self) -> Any:
        """The shapes and types of the state. Nothing is computed for it."""
        return self.driver.shapes(self.tables)

    @property
    @abstractmethod
    def learns(self) -> bool:
        """Whether the Q-functions of formulas learn in the next chunk. It is decided once for all of its steps."""

    @property
    def most_episodes(self) -> int:
        """The number of ended episodes at which a chunk ends, because an evaluation is due or the run is over."""
        every, ended = self.agent_config.episodes_between_evaluations, self.counters.episodes
        until_evaluation = UNLIMITED if every is None else every - ended % every
        return until_evaluation if self.episodes_limit is None else min(until_evaluation, self.episodes_limit - ended)

    @property
    def is_due(self) -> bool:
        """Whether greedy episodes follow the chunk: past a multiple of a number of episodes or, without one, chunks."""
        return self.counters.is_due(self.agent_config)

    @abstractmethod
    def take(self, state: RunState, counts: Counts) -> Any:
        """Processes the results of a chunk, and returns the findings."""

    @abstractmethod
    def conclude(self, findings: Any, evaluation: Evaluation | None) -> Row:
        """Ends a chunk: its findings take effect. Returns its row.

        Args:
            findings: The findings of the chunk.
            evaluation: The returns and the lengths of greedy episodes after it, by task and instance; None if there
                were none.
        """

    def _noted(self, returns: Any) -> Any:
        """Records the returns of an evaluation. Returns those by which the curriculum weighs instances.

        Of a sample of instances, these are the means.
        """
        self.recent = [*self.recent, returns][-EVALUATIONS:]
        self.counters.evaluated_at = self.counters.episodes
        is_sample = self.suite.curriculum_instances < self.suite.instances
        return returns.mean(axis=1, keepdims=True) if is_sample else returns

    def _row(
        self,
        counts: Counts,
        evaluation: Evaluation | None,
        running: Any,
        *,
        level: int = 1,
        collected: tuple[int, ...] = (0,),
        learned: tuple[MachineUpdate, ...] = (),
    ) -> Row:
        """The row of the last chunk.

        Args:
            counts: The counts of the chunk.
            evaluation: As for `conclude`.
            running: Running returns by task and instance.
            level: The level of the curriculum.
            collected: The number of traces that are kept, by task.
            learned: The new machines.
        """
        returns, lengths = evaluation or (None, None)
        return Row(
            chunk=self.counters.chunks,
            steps=self.counters.steps,
            episodes=self.counters.episodes,
            level=level,
            goals=whole_numbers(counts.goals),
            ended=whole_numbers(counts.episodes),
            collected=collected,
            running=tuple(map(float, running.mean(axis=1))),
            formula_loss=float(counts.losses.formulas),
            call_loss=float(counts.losses.calls),
            exploration=float(counts.exploration),
            learned=learned,
            returns=by_task_and_instance(returns),
            lengths=by_task_and_instance(lengths),
        )

    # -- the end

    @property
    def lowest_return(self) -> float | None:
        """The lowest mean return of a task in the last three evaluations; None before there are as many."""
        return float(np.mean(self.recent, axis=(0, 2)).min()) if len(self.recent) == EVALUATIONS else None

    @property
    @abstractmethod
    def is_exhausted(self) -> bool:
        """Whether nothing more can be learned."""

    @property
    def is_stuck(self) -> bool:
        """Whether every task was given up, so that training has stopped."""
        return False

    def close(self) -> None:  # noqa: B027
        """Does nothing: no processes were started, and solvers belong to their owner."""

    # -- the hierarchies of policies

    @property
    def is_playable(self) -> Any:
        """A mask [T] of the tasks that have a hierarchy which a policy could follow."""
        return np.ones(len(self.tasks), bool)

    @abstractmethod
    def followed(self, task: str) -> FollowedHierarchy:
        """The hierarchy that the policy of a task follows.

        Raises:
            RewardMachineError: The task has no machine yet.
        """

    # -- machines, where they are learned

    @property
    def learner_seconds(self) -> float:
        """The time that searches for machines have taken."""
        return 0.0

    @property
    def learned_machines(self) -> Mapping[str, Hierarchy]:
        """The hierarchies that were learned so far, by task."""
        return {}

    @property
    def learned_from(self) -> Mapping[str, Sequence[Trace]]:
        """The examples that the learned machines explain, by task."""
        return {}

    # -- runs side by side

    @property
    @abstractmethod
    def kind(self) -> Hashable:
        """Settings that runs side by side must have in common."""

    @property
    def shapes(self) -> Hashable:
        """The sizes of its arrays. Runs with equal ones share a program."""
        return None

    # -- the state that is not on the device

    state_type: type[Any]

    @abstractmethod
    def host_state(self) -> Any:
        """The state of the run that is not on the device, between two chunks."""

    @abstractmethod
    def restore(self, state: Any, where: str) -> None:
        """Restores the host state of the run, which has just begun."""


class RunsSideBySide:
    """Runs with the same tasks and settings, and with seeds and instances of their own.

    Each run equals the same run alone, except for the last digits of sums, which a program for many runs may compute in
    another order. Runs whose arrays have the same sizes share a program. A run that has outgrown its arrays has a
    program of its own until other runs have grown likewise: giving all runs the largest arrays would change their
    results, because the Q-functions of machines are reset in larger arrays.
    """

    def __init__(self, runs: Sequence[Algorithm]) -> None:
        """Combines runs, which may have begun or not.

        Raises:
            RewardMachineError: They have different tasks or settings, or their environments are not compiled.
        """
        self.runs = tuple(runs)
        for run in self.runs:
            if not isinstance(run.driver, JaxDriver):
                raise RewardMachineError("only runs in compiled environments can go side by side")
            if run.kind != self.runs[0].kind:
                raise RewardMachineError("runs side by side have the same tasks and settings; only seeds differ")
        self._lanes = Lanes(len(self.runs))

    def advance(self, numbers: Sequence[int] | None = None) -> list[Row]:
        """Computes one chunk of some of the runs. All other runs stay unchanged.

        Args:
            numbers: The numbers of the runs that go on; all, if not given.

        Returns:
            The rows of these runs, in this order.
        """
        runs = self.runs if numbers is None else [self.runs[number] for number in numbers]
        asked = [Acting(run.tables, run.state, learns=run.learns, most=run.most_episodes) for run in runs]
        acted = _in_groups(runs, asked, self._lanes.act)
        # A search waits for its solvers, which are processes, so that the searches of several runs go on at a time.
        findings = _in_threads([partial(run.take, *done) for run, done in zip(runs, acted, strict=True)])
        due = [i for i, run in enumerate(runs) if run.is_due]
        judged = _in_groups([runs[i] for i in due], [_judging(runs[i], findings[i]) for i in due], self._lanes.evaluate)
        evaluations = dict(zip(due, judged, strict=True))
        return [run.conclude(findings[i], evaluations.get(i)) for i, run in enumerate(runs)]


def _judging(run: Algorithm, findings: Any) -> Judging:
    return Judging(run.tables, run.state.agent, findings.evaluated, run.counters.chunks)


def _in_groups(
    runs: Sequence[Algorithm], asked: Sequence[Q], work: Callable[[JaxDriver, Sequence[Q]], list[T]]
) -> list[T]:  # fmt: skip
    """Applies a function to each group of runs with equally large arrays; the results are in the order of runs."""
    groups: dict[Hashable, list[int]] = {}
    for i, run in enumerate(runs):
        groups.setdefault(run.shapes, []).append(i)
    done: dict[int, T] = {}
    for group in groups.values():
        driver = runs[group[0]].driver
        assert isinstance(driver, JaxDriver)
        done.update(zip(group, work(driver, [asked[i] for i in group]), strict=True))
    return [done[i] for i in range(len(runs))]


def _in_threads(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Calls functions at the same time; their results in the order given."""
    if len(calls) <= 1:
        return [call() for call in calls]
    pool = ThreadPoolExecutor(len(calls), thread_name_prefix="run")
    try:
        return list(pool.map(lambda call: call(), calls))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, searches are not waited for
