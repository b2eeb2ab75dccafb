"""The machines of all tasks, learned from the traces that come in, and relearned when they turn out wrong."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.learning import (
    Budget,
    ContradictoryTracesError,
    Learned,
    Learner,
    LearningTask,
    Refutation,
    Result,
    Solvers,
    TimedOut,
    learning_task,
)
from rewardmachines.learning.oracles import trace_order
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.lhrm.examples import Examples, first_counterexample
from rewardmachines.lhrm.pool import Pool
from rewardmachines.traces import Outcome, Trace


class Cause(Enum):
    """Why a machine was learned. GOALS: enough were collected. CALLEE: it calls one that is new. PROBLEM: none was."""

    GOALS = "goals"
    COUNTEREXAMPLE = "counterexample"
    CALLEE = "callee"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Event:
    """A machine is new, or a task was given up."""

    task: str
    cause: Cause
    states: int
    """The rejecting state not counted, unless it is reached."""
    edges: int
    calls: int
    """Of the learner so far."""
    goals: int
    """Examples, also below."""
    dead_ends: int
    incompletes: int
    message: str | None = None


@dataclass(frozen=True)
class Learning:
    """How a task's machine came about. Every change is a new one."""

    examples: Examples
    calls: int = 0
    """Of the solver, each for a machine of a given size."""
    seconds: float = 0.0
    learned: int = 0
    """How often there was a new machine."""
    refuted: tuple[int, ...] = ()
    """Sizes that are known not to suffice as long as the space stays the same."""
    space: str = ""
    """The space of machines that was searched last, in short."""
    problem: str | None = None
    """Why the task was given up."""


class Machines:
    """Of one run. What is learned depends on the traces alone, not on the clock, unless the time is up."""

    def __init__(
        self, pool: Pool, config: LhrmConfig, solvers: Solvers, dependencies: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.pool = pool
        self._config = config
        self._solvers = solvers
        self._dependencies = dependencies
        self.searching: str | None = None
        """The task whose machine is being searched for right now, for those who watch."""
        self.learnings = {
            task.name: Learning(Examples(config.goals_wanted(task.level), config.examples)) for task in pool.tasks
        }

    def take(self, traces: Mapping[str, Sequence[Trace]]) -> list[Event]:
        """What was learned from the traces of a chunk, lowest first."""
        order = [task.name for task in self.pool.tasks]
        return [event for name in sorted(traces, key=order.index) for event in self._take(name, traces[name])]

    def _take(self, name: str, traces: Sequence[Trace]) -> list[Event]:
        if self.learnings[name].problem is not None:
            return []
        if not self.learnings[name].examples.has_begun:
            return self._collect(name, traces)
        events: list[Event] = []
        while (wrong := first_counterexample(self.pool.hierarchy(name), traces)) is not None:
            before = self.learnings[name].examples
            events += self._relearn(name, before.added(wrong), Cause.COUNTEREXAMPLE)
            if self.learnings[name].problem is not None:
                break
        return events

    def _collect(self, name: str, traces: Sequence[Trace]) -> list[Event]:
        examples = self.learnings[name].examples
        for trace in sorted(traces, key=trace_order):
            examples = examples.collected(trace)
        self._change(name, examples=examples)
        return self._relearn(name, examples.begun(), Cause.GOALS) if examples.is_ready else []

    def _relearn(self, name: str, examples: Examples, cause: Cause) -> list[Event]:
        """The task's machine, and those that call it, in their order: old contexts may no longer keep calls apart."""
        dependents = self.pool.dependents(name)
        events = [self._induce(name, examples, cause)]
        if events[0].cause is not Cause.PROBLEM:
            events += [self._induce(other, self.learnings[other].examples, Cause.CALLEE) for other in dependents]
        return events

    def _induce(self, name: str, examples: Examples, cause: Cause) -> Event:
        """A machine that explains the examples. Without one, everything stays as it was, and the task is given up."""
        try:
            task = learning_task(examples.traces, self.pool.propositions, self._callables(name), name=name)
            result = self._searched(name, task)
            problem = _problem(name, result, self._config.learner_seconds)
        except ContradictoryTracesError as contradiction:
            result, problem = None, f"{name}: its labels do not tell its ends apart: {contradiction.finding}"
        if not isinstance(result, Learned):
            self._change(name, problem=problem)
            return self._event(name, Cause.PROBLEM, problem)
        self._change(name, examples=examples, learned=self.learnings[name].learned + 1)
        self.pool = self.pool.with_machine(result.machine)
        return self._event(name, cause)

    def _searched(self, name: str, task: LearningTask) -> Result:
        """What was refuted with fewer examples is not searched again, also after a run was resumed."""
        learner, before = Learner(self._solvers), self.learnings[name]
        space = _fingerprint(task)
        for states in before.refuted if before.space == space else ():
            learner.remember(task, Refutation(states, 0, 0.0, "earlier"))
        began, self.searching = time.perf_counter(), name
        try:
            result = learner.learn(task, Budget(seconds=self._config.learner_seconds))
        finally:
            self.searching = None
        self._change(
            name,
            calls=before.calls + result.calls,
            seconds=before.seconds + time.perf_counter() - began,
            refuted=result.refuted,
            space=space,
        )
        return result

    def _callables(self, name: str) -> tuple[Hierarchy, ...]:
        if self._config.callables is Callables.NONE:
            return ()
        restricted = self._dependencies if self._config.callables is Callables.RESTRICTED else None
        return self.pool.callables(name, restricted)

    def _change(self, name: str, **changes: object) -> None:
        self.learnings[name] = replace(self.learnings[name], **changes)  # type: ignore[arg-type]

    def _event(self, name: str, cause: Cause, message: str | None = None) -> Event:
        learning, machine = self.learnings[name], self.pool.learned.get(name)
        counted = learning.examples.counted
        return Event(
            name,
            cause,
            0 if machine is None else len(machine.states),
            0 if machine is None else len(machine.edges),
            learning.calls,
            counted(Outcome.GOAL),
            counted(Outcome.DEAD_END),
            counted(Outcome.INCOMPLETE),
            message,
        )


def _problem(name: str, result: Result, seconds: float) -> str | None:
    if isinstance(result, Learned):
        return None
    if isinstance(result, TimedOut):
        return (
            f"{name}: no machine was found in {seconds:g} s ({result.reason}): it has at least {result.bound} states; "
            "give the learner more time (learner_seconds), or callables that help"
        )
    return f"{name}: no machine with at most {result.max_states} states explains its examples"


def _fingerprint(task: LearningTask) -> str:
    space = repr((task.callables, task.options, task.propositions, task.has_dead_ends))
    return hashlib.sha256(space.encode()).hexdigest()[:16]


def check_tasks(pool: Pool, dependencies: Mapping[str, tuple[str, ...]], callables: Callables) -> None:
    """Restricted to what is not among the tasks, a machine could not be learned as it should."""
    if callables is not Callables.RESTRICTED:
        return
    names = {task.name for task in pool.tasks}
    for name in names:
        if missing := [other for other in dependencies.get(name, ()) if other not in names]:
            raise RewardMachineError(f"'{name}' may call '{missing[0]}', which is not among the tasks to learn")
