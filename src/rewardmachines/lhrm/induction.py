"""Induction: the machines of all tasks are learned from traces, and relearned after counterexamples."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import verdict
from rewardmachines.learning import (
    Budget,
    Certificate,
    ContradictoryTracesError,
    Learned,
    LearningTask,
    Result,
    Solvers,
    TimedOut,
    Unsatisfiable,
    learning_task,
)
from rewardmachines.learning.induction import shortest
from rewardmachines.learning.task import trace_order
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.lhrm.conformance import EVENTS, Positions, Testing, TestProgress
from rewardmachines.lhrm.evidence import SAMPLE_WEIGHT, EvidenceSearch, TraceEvidence
from rewardmachines.lhrm.examples import Examples, first_counterexample
from rewardmachines.lhrm.learners import ExactLearner, MachineLearner, space_of
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.rollout.rows import MachineUpdate, Trigger
from rewardmachines.rollout.tables import PairCounts
from rewardmachines.traces import Outcome, Trace

_LEAST_SECONDS: Final = 0.001
"""The time limit of a search when no time is left: it ends at once, and so does the run."""


@dataclass(frozen=True)
class TaskProgress:
    """The progress of learning a task's machine. Changes make a new record."""

    examples: Examples
    calls: int = 0
    """The number of solver calls, each for a machine of a given size."""
    seconds: float = 0.0
    """The processor time of all searches; of one that ran out of time, the time that it was given."""
    learned: int = 0
    """The number of machines that were learned for the task."""
    refuted: tuple[int, ...] = ()
    """Refuted numbers of states, which do not suffice as long as the space of machines stays the same."""
    space: str = ""
    """A digest of the space of machines that was searched last."""
    failure: FailedSearch | None = None
    """The failed search, if the task was given up."""
    episodes_since: int = 0
    """The number of ended episodes since the task's machine was learned, which have not refuted it."""
    tests: TestProgress = field(default_factory=TestProgress)
    """How far the tests of the task's machine are."""
    evidence: TraceEvidence = field(default_factory=TraceEvidence)
    """The traces on which the task's machine is judged, where some may be wrong."""

    @property
    def problem(self) -> str | None:
        """The reason for which the task was given up, in words."""
        return None if self.failure is None else self.failure.message


class Machines:
    """The machines of all tasks. They depend on traces alone, not on the clock, unless a search runs out of time."""

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
            config: The settings, with the number of goal traces and the space of machines.
            solvers: The solvers of the exact learner.
            dependencies: The callees of the true machine of each task, for `Callables.RESTRICTED`.
            learner: The learner of machines; the exact one, if not given.
        """
        self.pool = pool
        self._config = config
        self._solvers = solvers
        self._learner: MachineLearner = learner or ExactLearner(solvers)
        self._dependencies = dependencies
        self.searching: str | None = None
        """The task whose machine is being searched for right now, for progress displays."""
        self.testing = Testing(config.tests)
        """The tests of machines; without labels, and never used, if there are none."""
        self.progress = {
            task.name: TaskProgress(examples=Examples(config.goals_wanted(task.level), config.examples))
            for task in pool.tasks
        }

    def count(self, episodes: Sequence[int]) -> None:
        """Counts the episodes of a chunk for the machines that there are; traces that refute one are taken later.

        Args:
            episodes: The number of ended episodes, by task.
        """
        for task, ended in zip(self.pool.tasks, episodes, strict=True):
            if task.name in self.pool.learned and ended:
                self._change(task.name, episodes_since=self.progress[task.name].episodes_since + int(ended))

    def count_pairs(self, pairs: PairCounts) -> None:
        """Counts the tests of a chunk; those of a machine that one of its traces refutes are dropped later."""
        tried, pursued = np.asarray(pairs.tried), np.asarray(pairs.pursued)
        for number, task in enumerate(self.pool.tasks):
            if task.name in self.pool.learned and (tried[number].any() or pursued[number].any()):
                self._test(task.name, tried[number], pursued[number])

    def see(self, labels: Sequence[Label]) -> None:
        """Tests the machines on these labels, in the order of their numbers, and judges all tests again."""
        self.testing.labels = tuple(labels[:EVENTS])
        for task in self.pool.tasks:
            if task.name in self.pool.learned:
                self._test(task.name, 0, 0)

    def _test(self, name: str, tried: Any, pursued: Any) -> None:
        before = self.progress[name].tests
        self._change(name, tests=self.testing.counted(before, self._tested(name), tried, pursued))

    def positions(self, name: str) -> Positions:
        """The positions of the machine of a task."""
        return self.testing.positions(self._tested(name))

    def efforts(self, name: str) -> Any:
        """The effort of each pair of a task's machine, by position and label."""
        return self.testing.efforts(self.progress[name].tests, self._tested(name))

    def _tested(self, name: str) -> Hierarchy:
        whole = self.pool.hierarchy(name)
        return Hierarchy(name, whole.reachable(), self.pool.propositions)

    def is_confirmed(self, name: str) -> bool:
        """Whether a task's machine has stood its tests, and enough episodes of the task have not refuted it."""
        progress = self.progress[name]
        is_tested = not self._config.tests or progress.tests.is_complete
        is_enough = is_tested and progress.episodes_since >= self._config.confirm_episodes
        return is_enough and not self._is_doubtful(progress)

    def _is_doubtful(self, progress: TaskProgress) -> bool:
        """Whether a task's machine has more counterexamples than the rate of noise allows."""
        rate = self._config.noise
        return rate > 0 and progress.evidence.is_doubtful(progress.episodes_since, rate)

    @property
    def unconfirmed(self) -> tuple[int, ...]:
        """The numbers of the tasks whose machines are not confirmed; those without a machine are among them."""
        return tuple(number for number, task in enumerate(self.pool.tasks) if not self.is_confirmed(task.name))

    def take(self, traces: Mapping[str, Sequence[Trace]]) -> list[MachineUpdate]:
        """Learns from the traces of a chunk, lowest level first.

        Args:
            traces: Traces by task: counterexamples of its machine, or goal traces if it has no machine. With noise,
                among them a sample of those that the machine explains.

        Returns:
            The machines that were learned, and the tasks that were given up, in this order.
        """
        order = [task.name for task in self.pool.tasks]
        return [event for name in sorted(traces, key=order.index) for event in self._take(name, traces[name])]

    def _take(self, name: str, traces: Sequence[Trace]) -> list[MachineUpdate]:
        """Learns from the traces of one task until its machine explains them all."""
        if (failure := self.progress[name].failure) is not None:
            return self._try_again(name, failure.collected(traces))
        if not self.progress[name].examples.has_begun:
            return self._collect(name, traces)
        if self._config.noise:
            return self._weigh(name, traces)
        events: list[MachineUpdate] = []
        while (wrong := first_counterexample(self.pool.hierarchy(name), traces)) is not None:
            before = self.progress[name].examples
            events += self._relearn(name, before.added(wrong), Trigger.COUNTEREXAMPLE)
            if self.progress[name].failure is not None:
                break
        return events

    def _weigh(self, name: str, traces: Sequence[Trace]) -> list[MachineUpdate]:
        """Keeps the traces of one task, and learns a machine that explains more of the kept ones, if there is one."""
        hierarchy, examples = self.pool.hierarchy(name), self.progress[name].examples
        wrong = [trace for trace in traces if verdict(hierarchy, trace.labels) is not trace.outcome.verdict]
        evidence = self.progress[name].evidence.with_counterexamples(wrong)
        evidence = evidence.with_traces([trace for trace in traces if trace not in wrong], SAMPLE_WEIGHT)
        self._change(name, evidence=evidence)
        is_doubtful = self._is_doubtful(self.progress[name])
        if not evidence.is_due(is_doubtful=is_doubtful):
            return []
        present = Learned(self.pool.learned[name], self._tested(name), Certificate((), False, False), 0, 0)
        clock, self.searching = self._solvers.seconds, name
        try:
            with Solvers(easy_only=True) as easy:
                search = self._evidence_search(name, examples.traces, easy)
                found = search.better(search.judged(present, examples.traces), is_doubtful=is_doubtful)
        finally:
            self.searching = None
        seconds = self.progress[name].seconds + self._solvers.seconds - clock
        self._change(name, seconds=seconds, evidence=replace(evidence, searched=evidence.counterexamples))
        if found is None:
            return []
        self._change(name, calls=self.progress[name].calls + found.learned.calls, refuted=(), space="")
        event = self._renewed(name, examples.exactly(found.sample), found.learned, Trigger.COUNTEREXAMPLE)
        return [event, *map(self._follow, self.pool.dependents(name))]

    def _evidence_search(self, name: str, examples: Iterable[Trace], easy: Solvers) -> EvidenceSearch:
        """A search for a machine that explains most of the kept traces of a task."""
        propositions, callables, options = self.pool.propositions, self.callables(name), self._config.machine_space
        return EvidenceSearch(
            self._learner,
            ExactLearner(easy) if isinstance(self._learner, ExactLearner) else self._learner,
            lambda traces: learning_task(traces, propositions, callables, options=options, name=name),
            self.progress[name].evidence,
            examples,
            self._budget,
            prefix_knowledge=options.prefix_knowledge,
        )

    def _try_again(self, name: str, failure: FailedSearch) -> list[MachineUpdate]:
        """Searches again for a task that was given up, once there are enough new goal traces; adds the shortest."""
        self._change(name, failure=failure)
        before = self.progress[name].examples
        if failure.is_final or len(failure.fresh) < failure.wanted(before.wanted):
            return []
        new = shortest(failure.fresh, before.first)
        examples = replace(before, goals=frozenset(), repeats=0, traces=(*failure.traces, *new))
        return self._relearn(name, examples, Trigger.GOALS)

    def _collect(self, name: str, traces: Sequence[Trace]) -> list[MachineUpdate]:
        """Collects goal traces, and learns the first machine once there are enough."""
        examples = self.progress[name].examples
        for trace in traces:  # not the shortest first, or N environments would collect N times as short ones
            examples = examples.collected(trace)
        self._change(name, examples=examples)
        if self._config.noise and examples.is_ready:
            self._change(
                name, evidence=self.progress[name].evidence.with_traces(sorted(examples.goals, key=trace_order))
            )
        return self._relearn(name, examples.begun(), Trigger.GOALS) if examples.is_ready else []

    def _relearn(self, name: str, examples: Examples, cause: Trigger) -> list[MachineUpdate]:
        """Learns the task's machine, and then those that call it, lowest level first.

        Contexts that kept calls apart need not do so with the new machine. For the same reason a machine that cannot
        be relearned then is not kept. Those that call it are learned without it.
        """
        dependents = self.pool.dependents(name)
        events = [self._induce(name, examples, cause)]
        if events[0].cause is not Trigger.PROBLEM:
            events += [self._follow(other) for other in dependents]
        return events

    def _follow(self, name: str) -> MachineUpdate:
        """Relearns a machine whose callee is new. Without success the task has no machine any longer."""
        learning = self.progress[name]
        examples = learning.examples
        if learning.failure is not None and not learning.failure.is_final:
            examples = replace(examples, traces=learning.failure.traces)
        event = self._induce(name, examples, Trigger.CALLEE)
        if event.cause is not Trigger.PROBLEM:
            return event
        self.pool = self.pool.without_machine(name)
        return self._event(name, Trigger.PROBLEM, event.message)

    def _induce(self, name: str, examples: Examples, cause: Trigger) -> MachineUpdate:
        """Learns a machine that explains the examples. Without success the old one is kept, and the task given up.

        With noise, examples that contradict the others are left out first.
        """
        if self._config.noise:
            examples = self._without_contradictions(name, examples)
        try:
            task = learning_task(
                examples.traces,
                self.pool.propositions,
                self.callables(name),
                options=self._config.machine_space,
                name=name,
            )
            result = self._searched(name, task)
        except ContradictoryTracesError as contradiction:
            message = f"{name}: its labels do not tell its ends apart: {contradiction.finding}"
            return self._give_up(name, FailedSearch(message, examples.traces, is_final=True))
        if not isinstance(result, Learned):
            message = explain_failure(name, result, self._config)
            return self._give_up(name, FailedSearch(message, examples.traces))
        return self._renewed(name, examples, result, cause)

    def _without_contradictions(self, name: str, examples: Examples) -> Examples:
        """The examples, or if some contradict each other, as many as one machine explains."""
        try:
            learning_task(examples.traces, self.pool.propositions, name=name, options=self._config.machine_space)
        except ContradictoryTracesError:
            with Solvers(easy_only=True) as easy:
                found = self._evidence_search(name, examples.traces, easy).consistent(examples.traces)
            return examples if found is None else examples.exactly(found.sample)
        return examples

    def _renewed(self, name: str, examples: Examples, result: Learned, cause: Trigger) -> MachineUpdate:
        """Takes over a new machine of a task."""
        if result.machine.name != name:
            raise RewardMachineError(f"the learner was asked for a machine '{name}', not '{result.machine.name}'")
        before = self.progress[name]
        is_final = before.failure is not None and before.failure.is_final
        kept = before.failure if is_final else None  # if equal labels have different ends, no machine helps
        self._change(
            name,
            examples=examples,
            learned=before.learned + 1,
            failure=kept,
            episodes_since=0,
            tests=TestProgress(),
            evidence=before.evidence.of_new_machine(),
        )
        self.pool = self.pool.with_machine(result.machine)
        return self._event(name, cause)

    def _give_up(self, name: str, failure: FailedSearch) -> MachineUpdate:
        """Gives a task up, until there are new examples, if they can help at all."""
        before = self.progress[name].failure
        attempts = 1 if before is None else before.attempts + 1
        self._change(name, failure=replace(failure, attempts=attempts))
        return self._event(name, Trigger.PROBLEM, failure.message)

    def _searched(self, name: str, task: LearningTask) -> Result:
        """Searches for a machine, but not among sizes that were refuted with fewer examples, resumed or not."""
        before, space = self.progress[name], space_of(task)
        refuted = before.refuted if before.space == space else ()
        began, clock, self.searching = time.monotonic(), self._solvers.seconds, name
        try:
            result = self._learner.learn(task, self._budget, refuted)
        finally:
            self.searching = None
        is_over = isinstance(result, TimedOut)  # then the budget, which is one of time on the wall, is spent
        seconds = time.monotonic() - began if is_over else self._solvers.seconds - clock
        self._change(
            name,
            calls=before.calls + result.calls,
            seconds=before.seconds + seconds,
            refuted=result.refuted,
            space=space,
        )
        return result

    @property
    def seconds(self) -> float:
        """The seconds of all searches of the run together."""
        return sum(learning.seconds for learning in self.progress.values())

    @property
    def is_out_of_time(self) -> bool:
        """Whether all searches together have taken as long as they may."""
        limit = self._config.run_learner_seconds
        return limit is not None and self.seconds >= limit

    @property
    def _budget(self) -> Budget:
        """The budget of the next search: at most the time that is left for all searches of the run."""
        budget, limit = self._config.learner_budget, self._config.run_learner_seconds
        if limit is None:
            return budget
        return replace(budget, seconds=min(self._config.learner_seconds, max(limit - self.seconds, _LEAST_SECONDS)))

    def callables(self, name: str) -> tuple[Hierarchy, ...]:
        """The hierarchies that the task's machine may call, according to the settings."""
        if self._config.callables is Callables.NONE:
            return ()
        restricted = self._dependencies if self._config.callables is Callables.RESTRICTED else None
        return self.pool.callables(name, restricted)

    def _change(self, name: str, **changes: object) -> None:
        self.progress[name] = replace(self.progress[name], **changes)  # type: ignore[arg-type]

    def _event(self, name: str, cause: Trigger, message: str | None = None) -> MachineUpdate:
        learning, machine = self.progress[name], self.pool.learned.get(name)
        counted = learning.examples.counted
        return MachineUpdate(
            task=name,
            cause=cause,
            states=0 if machine is None else len(machine.states),
            edges=0 if machine is None else len(machine.edges),
            calls=learning.calls,
            goals=counted(Outcome.GOAL),
            dead_ends=counted(Outcome.DEAD_END),
            incompletes=counted(Outcome.INCOMPLETE),
            message=message,
        )


# -- searches that found no machine


@dataclass(frozen=True)
class FailedSearch:
    """A search that found no machine. It is repeated when enough new goal traces have come in."""

    message: str
    traces: tuple[Trace, ...]
    """The examples for which no machine was found."""
    is_final: bool = False
    """Whether the traces contradict each other, so that no further traces can help."""
    attempts: int = 1
    """Searches that have failed in a row."""
    fresh: frozenset[Trace] = frozenset()
    """Goal traces that have come in since the search failed."""

    def wanted(self, first: int) -> int:
        """The number of new goal traces before the next search, which doubles with each failure."""
        return first << (self.attempts - 1)

    def collected(self, traces: Iterable[Trace]) -> FailedSearch:
        """The failed search after more traces; new goal traces among them are kept."""
        goals = {trace.compressed() for trace in traces if trace.outcome is Outcome.GOAL}
        return replace(self, fresh=self.fresh | (goals - set(self.traces)))


def explain_failure(name: str, result: TimedOut | Unsatisfiable, config: LhrmConfig) -> str:
    """The explanation of a failed search, in words, with advice."""
    if isinstance(result, TimedOut):
        found, advice = {
            "time": (f"in {config.learner_seconds:g} s", "give the learner more time (learner_seconds)"),
            "memory": (f"with {config.learner_memory} GiB", "give the learner more memory (learner_memory)"),
            "killed": ("because a solver was killed", "see that there is enough memory"),
        }[result.reason]
        least = f"it has at least {result.bound} states"
        return f"{name}: no machine was found {found}: {least}; {advice}, or callables that help"
    return f"{name}: no machine with at most {result.max_states} states explains its examples"
