"""An algorithm in memory: what a run in a folder needs of it, and what runs side by side need of training and LHRM."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.rollout.jax_driver import JaxDriver
from rewardmachines.rollout.lanes import Acting, Judging, Lanes
from rewardmachines.rollout.rows import Counters, Row
from rewardmachines.rollout.suite import Driver, TaskSuite
from rewardmachines.rollout.tables import Counts, RunState, TaskTables
from rewardmachines.traces import Trace

EVALUATIONS: Final = 3
"""The number of consecutive evaluations whose mean return decides whether a task is learned well enough."""
UNLIMITED: Final = 2**31 - 1
"""The largest number of episodes that can be counted on the device."""
Q = TypeVar("Q")
T = TypeVar("T")


class Findings(Protocol):
    """What a chunk has shown, before anything of it takes effect."""

    @property
    def evaluated(self) -> Any:
        """A mask [T] of the tasks that greedy episodes after the chunk judge."""


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
        """The examples that they must explain, by task."""

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing more can be learned, whatever was learned so far."""

    def is_done(self, at: float) -> bool:
        """Whether all tasks have lately returned at least this."""

    def advance(self) -> Row:
        """Computes one chunk, and an evaluation if it is due. Returns its row."""

    @property
    def state_type(self) -> type[Any]:
        """The dataclass of the state that is not on the device."""

    def host_state(self) -> Any:
        """The state of the run that is not on the device, as a record that JSON can hold."""

    def restore(self, state: Any, where: str) -> None:
        """Goes back to a state of the run that is not on the device. The run has just begun.

        Args:
            state: The state.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: It is damaged, or belongs to another run.
        """

    def close(self) -> None:
        """Ends the processes that the algorithm has started, if it has started any."""


class Algorithm(ChunkedRun, Protocol):
    """A run that trains policies: an agent on the device acts and learns in each chunk, and the host does the rest."""

    @property
    def suite(self) -> TaskSuite:
        """The tasks, and where they are trained."""

    @property
    def tables(self) -> TaskTables:
        """The tasks as arrays."""

    @property
    def driver(self) -> Driver:
        """The driver that acts on the tables."""

    state: RunState
    """All arrays that change while the agent acts and learns."""

    @property
    def learns(self) -> bool:
        """Whether the Q-functions of formulas learn in the next chunk."""

    @property
    def most_episodes(self) -> int:
        """The number of ended episodes with which the next chunk ends."""

    @property
    def is_due(self) -> bool:
        """Whether greedy episodes follow the chunk."""

    @property
    def kind(self) -> Hashable:
        """Settings that runs side by side must have in common."""

    @property
    def shapes(self) -> Hashable:
        """The sizes of its arrays. Runs with equal ones share a program."""

    def take(self, state: RunState, counts: Counts) -> Any:
        """Takes in what a chunk brought, and returns the findings."""

    def conclude(self, findings: Any, evaluation: tuple[Any, Any] | None) -> Row:
        """Ends a chunk: what is new takes effect. Returns its row.

        Args:
            findings: What was found in the chunk.
            evaluation: The returns and the lengths of greedy episodes after it, by task and instance; None if there
                were none.
        """


def advance(run: Algorithm) -> Row:
    """Computes one chunk of a run, and an evaluation if it is due."""
    tables, driver = run.tables, run.driver
    state, counts = driver.chunk(tables, run.state, learns=run.learns, most=run.most_episodes)
    findings, evaluation = run.take(state, counts), None
    if run.is_due:
        evaluation = driver.evaluate(tables, state.agent, findings.evaluated, run.counters.chunks)
    return run.conclude(findings, evaluation)


class RunsSideBySide:
    """Runs with the same tasks and settings, and with seeds and instances of their own.

    Each run does what it would do alone, but for the last digits of sums, which a program for many runs may compute in
    another order. Runs whose arrays have the same sizes share a program. One that has outgrown its arrays is moved by
    itself until others have grown likewise: to give all of them the largest arrays would change what they do, because
    the Q-functions of machines begin afresh in larger arrays.
    """

    def __init__(self, runs: Sequence[Algorithm]) -> None:
        """Takes runs together, of which none, some or all may have begun.

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
        """Computes one chunk of some of the runs. Nothing happens to the others.

        Args:
            numbers: The numbers of the runs that go on; all, if not given.

        Returns:
            The row of each of them, in this order.
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


def _judging(run: Algorithm, findings: Findings) -> Judging:
    return Judging(run.tables, run.state.agent, findings.evaluated, run.counters.chunks)


def _in_groups(
    runs: Sequence[Algorithm], asked: Sequence[Q], work: Callable[[JaxDriver, Sequence[Q]], list[T]]
) -> list[T]:  # fmt: skip
    """Does what is asked for each group of runs whose arrays have the same sizes; the results in the order of runs."""
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
