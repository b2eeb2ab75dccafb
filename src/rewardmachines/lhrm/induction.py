"""The machines of all tasks, learned from the traces that come in, and relearned when they turn out wrong."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.learning import (
    ContradictoryTracesError,
    Learned,
    LearningTask,
    Result,
    Solvers,
    TimedOut,
    Unsatisfiable,
    learning_task,
)
from rewardmachines.learning.oracles import shortest, trace_order
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.lhrm.examples import Examples, first_counterexample
from rewardmachines.lhrm.machine_learner import ExactLearner, MachineLearner, space_of
from rewardmachines.lhrm.machine_pool import Pool
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
class Setback:
    """A search that found no machine. It is repeated when enough new goal traces have come in."""

    message: str
    traces: tuple[Trace, ...]
    """The examples that no machine was found for."""
    is_final: bool = False
    """Whether the traces exclude each other, so that no further ones can help."""
    attempts: int = 1
    """Searches that have failed in a row."""
    fresh: frozenset[Trace] = frozenset()
    """Goal traces that have come in since."""

    def wanted(self, first: int) -> int:
        """How many new goal traces the next search waits for: twice as many after each failure."""
        return first << (self.attempts - 1)

    def collected(self, traces: Iterable[Trace]) -> Setback:
        """With goal traces that are not among the examples."""
        goals = {trace.compressed() for trace in traces if trace.outcome is Outcome.GOAL}
        return replace(self, fresh=self.fresh | (goals - set(self.traces)))


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
    setback: Setback | None = None
    """Why the task was given up, if it was."""

    @property
    def problem(self) -> str | None:
        """Why the task was given up, in words."""
        return None if self.setback is None else self.setback.message


class Machines:
    """Of one run. What is learned depends on the traces alone, not on the clock, unless the time is up."""

    def __init__(
        self,
        pool: Pool,
        config: LhrmConfig,
        solvers: Solvers,
        dependencies: Mapping[str, tuple[str, ...]],
        learner: MachineLearner | None = None,
    ) -> None:
        """Begins with the machines of a pool.

        Args:
            pool: The tasks, with the machines that there are already.
            config: How many traces a machine is learned from, and what it may be like.
            solvers: What the exact learner searches with.
            dependencies: What the true machine of each task calls, for machines that may call nothing else.
            learner: Who learns machines; the exact learner, if nobody is given.
        """
        self.pool = pool
        self._config = config
        self._learner: MachineLearner = learner or ExactLearner(solvers, config.learner_budget)
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
        if (setback := self.learnings[name].setback) is not None:
            return self._try_again(name, setback.collected(traces))
        if not self.learnings[name].examples.has_begun:
            return self._collect(name, traces)
        events: list[Event] = []
        while (wrong := first_counterexample(self.pool.hierarchy(name), traces)) is not None:
            before = self.learnings[name].examples
            events += self._relearn(name, before.added(wrong), Cause.COUNTEREXAMPLE)
            if self.learnings[name].setback is not None:
                break
        return events

    def _try_again(self, name: str, setback: Setback) -> list[Event]:
        """Another search for a task that was given up, if there are enough new examples; the shortest are added."""
        self._change(name, setback=setback)
        before = self.learnings[name].examples
        if setback.is_final or len(setback.fresh) < setback.wanted(before.wanted):
            return []
        new = shortest(setback.fresh, before.first)
        examples = replace(before, goals=frozenset(), vain=0, traces=(*setback.traces, *new))
        return self._relearn(name, examples, Cause.GOALS)

    def _collect(self, name: str, traces: Sequence[Trace]) -> list[Event]:
        examples = self.learnings[name].examples
        for trace in sorted(traces, key=trace_order):
            examples = examples.collected(trace)
        self._change(name, examples=examples)
        return self._relearn(name, examples.begun(), Cause.GOALS) if examples.is_ready else []

    def _relearn(self, name: str, examples: Examples, cause: Cause) -> list[Event]:
        """The task's machine, and those that call it, in their order: old contexts may no longer keep calls apart.

        For the same reason a machine that cannot be relearned after what it calls has changed is not kept. Those that
        call it are then learned without it.
        """
        dependents = self.pool.dependents(name)
        events = [self._induce(name, examples, cause)]
        if events[0].cause is not Cause.PROBLEM:
            events += [self._follow(other) for other in dependents]
        return events

    def _follow(self, name: str) -> Event:
        """Relearns a machine whose callee is new; without success there is none any longer."""
        learning = self.learnings[name]
        examples = learning.examples
        if learning.setback is not None and not learning.setback.is_final:
            examples = replace(examples, traces=learning.setback.traces)
        event = self._induce(name, examples, Cause.CALLEE)
        if event.cause is not Cause.PROBLEM:
            return event
        self.pool = self.pool.without_machine(name)
        return self._event(name, Cause.PROBLEM, event.message)

    def _induce(self, name: str, examples: Examples, cause: Cause) -> Event:
        """A machine that explains the examples. Without one, everything stays as it was, and the task is given up."""
        try:
            task = learning_task(
                examples.traces,
                self.pool.propositions,
                self._callables(name),
                options=self._config.machine_space,
                name=name,
            )
            result = self._searched(name, task)
        except ContradictoryTracesError as contradiction:
            message = f"{name}: its labels do not tell its ends apart: {contradiction.finding}"
            return self._give_up(name, Setback(message, examples.traces, is_final=True))
        if not isinstance(result, Learned):
            message = _problem(name, result, self._config)
            return self._give_up(name, Setback(message, examples.traces))
        if result.machine.name != name:
            raise RewardMachineError(f"the learner was asked for a machine '{name}', not '{result.machine.name}'")
        before = self.learnings[name]
        is_final = before.setback is not None and before.setback.is_final
        kept = before.setback if is_final else None  # what its labels do not tell, no machine does
        self._change(name, examples=examples, learned=before.learned + 1, setback=kept)
        self.pool = self.pool.with_machine(result.machine)
        return self._event(name, cause)

    def _give_up(self, name: str, setback: Setback) -> Event:
        """Until there are new examples, if they can help at all."""
        before = self.learnings[name].setback
        attempts = 1 if before is None else before.attempts + 1
        self._change(name, setback=replace(setback, attempts=attempts))
        return self._event(name, Cause.PROBLEM, setback.message)

    def _searched(self, name: str, task: LearningTask) -> Result:
        """What was refuted with fewer examples is not searched again, also after a run was resumed."""
        before, space = self.learnings[name], space_of(task)
        refuted = before.refuted if before.space == space else ()
        began, self.searching = time.perf_counter(), name
        try:
            result = self._learner.learn(task, refuted)
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


def _problem(name: str, result: TimedOut | Unsatisfiable, config: LhrmConfig) -> str:
    if isinstance(result, TimedOut):
        found, advice = {
            "time": (f"in {config.learner_seconds:g} s", "give the learner more time (learner_seconds)"),
            "memory": (f"with {config.learner_memory} GiB", "give the learner more memory (learner_memory)"),
            "killed": ("because a solver was killed", "see that there is enough memory"),
        }[result.reason]
        least = f"it has at least {result.bound} states"
        return f"{name}: no machine was found {found}: {least}; {advice}, or callables that help"
    return f"{name}: no machine with at most {result.max_states} states explains its examples"


def check_tasks(pool: Pool, dependencies: Mapping[str, tuple[str, ...]], callables: Callables) -> None:
    """Restricted to what is not among the tasks, a machine could not be learned as it should."""
    if callables is not Callables.RESTRICTED:
        return
    names = {task.name for task in pool.tasks}
    for name in names:
        if missing := [other for other in dependencies.get(name, ()) if other not in names]:
            raise RewardMachineError(f"'{name}' may call '{missing[0]}', which is not among the tasks to learn")
