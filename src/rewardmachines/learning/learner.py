"""Growing: the smallest size first, one state more each time the solver proves that it does not suffice."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.machine import RewardMachine
from rewardmachines.core.reachability import check_determinism
from rewardmachines.learning.limits import BudgetExceeded, SearchLimits, memory_taken
from rewardmachines.learning.results import Certificate, Learned, Refutation, Result, TimedOut, Unsatisfiable
from rewardmachines.learning.sampling import Sample, is_large
from rewardmachines.learning.sat import SatEncoding
from rewardmachines.learning.solvers import Answer, Question, Solvers
from rewardmachines.learning.task import LearningTask
from rewardmachines.learning.tree import TraceTree
from rewardmachines.traces import Trace

MAX_STATES: Final = 30
SMALLEST: Final = 2
"""An initial and an accepting state."""
GRACE: Final = 0.5
"""Seconds that a machine may still be judged for when the time is up."""


class Engine(Enum):
    """The solver of a search: SAT is fast, CLINGO runs the paper's own rules."""

    SAT = "sat"
    CLINGO = "clingo"


@dataclass(frozen=True)
class Progress:
    """The present activity of a search."""

    states: int
    traces: int
    seconds: float
    activity: str


Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Budget:
    """The budget of a search. It is over within a second after this is spent; no solver is left."""

    seconds: float | None = None
    memory: int | None = None
    """Bytes: of each solver process, and those by which this process may grow."""
    max_states: int = MAX_STATES

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise RewardMachineError(f"the time must be more than 0 seconds, not {self.seconds:g}")
        if self.memory is not None and self.memory <= 0:
            raise RewardMachineError(f"the memory must be more than 0 bytes, not {self.memory}")
        if self.max_states < SMALLEST:
            raise RewardMachineError(f"a machine has at least {SMALLEST} states, not {self.max_states}")

    def start(self) -> SearchLimits:
        """The limits of a search that begins now."""
        return SearchLimits(self.seconds, self.memory, 0 if self.memory is None else memory_taken())


class Learner:
    """Learns machines, and never searches again a size that was refuted with fewer traces.

    The machine depends on the task alone: what is remembered, and which solver is first, decide only how soon the size
    is settled; the machine of that size is then searched for from scratch.
    """

    def __init__(self, solvers: Solvers, *, engine: Engine = Engine.SAT, watch: Watch = lambda _: None) -> None:
        self._solvers = solvers
        self.engine = engine
        self._watch = watch
        self._refuted: dict[object, list[tuple[frozenset[Trace], Refutation]]] = {}

    def learn(self, task: LearningTask, budget: Budget | None = None, limits: SearchLimits | None = None) -> Result:
        """The smallest machine that explains the traces of a task.

        Args:
            task: The learning task.
            budget: The budget of the search.
            limits: The limits of an earlier search that goes on, instead of new ones from the budget.

        Returns:
            `Learned`, with the proof that there is no smaller machine. `Unsatisfiable`, if no machine of up to
            `budget.max_states` states explains the traces. `TimedOut`, if the search ended before either was known:
            its `reason` is "time", "memory", or "killed" if a solver was killed from outside.

        Raises:
            RewardMachineError: if the solver is not installed or cannot be started.
        """
        budget = budget or Budget()
        return _Search(self, task, budget.max_states, limits or budget.start()).run()

    def refutations(self, task: LearningTask) -> list[Refutation]:
        """The refutations that hold for this task, by size: of the same space, and with no other traces."""
        traces = frozenset(task.traces)
        by_size = {r.states: r for earlier, r in self._refuted.get(_space(task), ()) if earlier <= traces}
        return [by_size[states] for states in sorted(by_size)]

    def remember(self, task: LearningTask, refutation: Refutation) -> None:
        """Keeps a refutation for later searches of the same space."""
        self._refuted.setdefault(_space(task), []).append((frozenset(task.traces), refutation))


def _space(task: LearningTask) -> object:
    """The search space of a task: a refutation depends on it and on the traces."""
    return (task.callables, task.options, task.propositions, task.has_dead_ends)


class _Search:
    """One task, from the smallest size that may do."""

    def __init__(self, learner: Learner, task: LearningTask, max_states: int, limits: SearchLimits) -> None:
        self._learner = learner
        self._task = task
        self._max_states = max_states
        self._limits = limits
        self._calls = 0
        self._tree: TraceTree | None = None
        self._sample = Sample(task, learner._solvers, limits) if is_large(task) else None

    def run(self) -> Result:
        known = self._learner.refutations(self._task)
        states = SMALLEST
        while any(r.states == states for r in known):
            states += 1
        try:
            while states <= self._max_states:
                self._limits.check()
                self._calls += 1
                result = self._try(states)
                if result is not None:
                    return result
                states += 1
        except BudgetExceeded as exceeded:
            return TimedOut(states, self._refutations(), self._limits.seconds, self._calls, exceeded.reason)
        except MemoryError:
            return TimedOut(states, self._refutations(), self._limits.seconds, self._calls, "memory")
        return Unsatisfiable(self._max_states, self._refutations(), self._limits.seconds, self._calls)

    def _refutations(self) -> tuple[Refutation, ...]:
        return tuple(self._learner.refutations(self._task))

    def _try(self, states: int) -> Learned | None:
        """A machine of that size, or None and a refutation more."""
        began = time.monotonic()
        if self._learner.engine is Engine.CLINGO:
            machine, proved = self._ask_clingo(states), 2
        else:
            machine, proved = self._ask_sat(states)
        if machine is None:
            how = f"{self._learner.engine.value}: the whole space was searched"
            refutation = Refutation(states, len(self._task.traces), time.monotonic() - began, how)
            self._learner.remember(self._task, refutation)
            return None
        hierarchy = self._task.hierarchy(machine)
        _judge(self._task, machine, self._limits.extended(GRACE))
        certificate = Certificate(self._refutations(), edges_minimal=proved > 0, literals_minimal=proved > 1)
        return Learned(machine, hierarchy, certificate, self._limits.seconds, self._calls)

    def _ask_sat(self, states: int) -> tuple[RewardMachine | None, int]:
        """A machine of that size, and how many of its numbers, edges and literals, are proved to be the fewest."""
        if self._sample is None:
            return self._ask_with_all_traces(states)
        candidate = self._sample.machine(states, lambda: self._tell(states, "searching with a few of the traces"))
        if candidate is None:
            return None, 0
        try:
            return self._ask_with_all_traces(states, is_possible=True)
        except BudgetExceeded:
            return candidate, 0  # it is of the right size and explains all traces

    def _ask_with_all_traces(self, states: int, *, is_possible: bool = False) -> tuple[RewardMachine | None, int]:
        with _no_garbage():
            self._tree = self._tree or TraceTree(self._task, self._limits)
            encoding = SatEncoding(self._task, self._tree, states - 1, self._limits)
        edges = encoding.used
        literals = [v for row in (*encoding.positive, *encoding.negative) for v in row]
        phases = [-v for v in (*edges, *literals)]
        self._tell(states, "is there a machine?")
        question = Question(encoding.clauses, phases, [edges, literals], encoding.described)
        answer = self._answer(states, question, is_possible)
        return (None if answer.model is None else encoding.machine(answer.model)), answer.proved

    def _answer(self, states: int, question: Question, is_possible: bool) -> Answer:
        """Answers easy questions at once; of hard ones, a race refutes the size, or one solver finds the machine."""
        solvers = self._learner._solvers
        tick = lambda: self._tell(states, "searching")  # noqa: E731
        try:
            easy = solvers.quick(question, self._limits, tick)
            if easy is not None:
                return easy
            return solvers.optimize(question, self._limits, tick, is_possible=is_possible)
        except BudgetExceeded as exceeded:
            if exceeded.model is None:
                raise
            return Answer(exceeded.model)  # of the right size all the same

    def _ask_clingo(self, states: int) -> RewardMachine | None:
        from rewardmachines.learning import asp

        self._tell(states, "clingo")
        tick = lambda: self._tell(states, "clingo")  # noqa: E731
        return asp.solve_in_process(self._learner._solvers, self._task, states, self._limits, tick)

    def _tell(self, states: int, activity: str) -> None:
        self._learner._watch(Progress(states, len(self._task.traces), self._limits.seconds, activity))


@contextmanager
def _no_garbage() -> Iterator[None]:
    """A hundred thousand clauses are a hundred thousand lists, none of them garbage: looking for some is a waste."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _judge(task: LearningTask, machine: RewardMachine, limits: SearchLimits) -> None:
    """The core has the last word on every machine."""
    hierarchy = task.hierarchy(machine)
    if (trace := task.unexplained(hierarchy, limits)) is not None or (conflicts := check_determinism(hierarchy)):
        problem = f"it does not explain {trace}" if trace is not None else str(conflicts[0])
        raise AssertionError(f"a solver gave a machine that is wrong: {problem}")
