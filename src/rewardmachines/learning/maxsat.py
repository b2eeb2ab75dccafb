"""The fewest mistakes of any machine of a given size on traces some of which are wrong, by MaxSAT.

Every trace has an error variable, and a soft clause that says it is false. Traces are told lazily: those of which some
machine has shown that they matter, and only as far as they matter, as the incomplete trace up to the place of the
error. What is told of a trace is never harder to explain than the trace, so the fewest mistakes on what is told are a
lower bound. A machine that makes no more of them is judged on all traces, and its shortest errors are told, too, until
it is excluded.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.learning.limits import BudgetExceeded, Reason, SearchLimits
from rewardmachines.learning.results import GivenUp, MistakeBound
from rewardmachines.learning.sat import ACCEPT, REJECT, Clause, SatEncoding
from rewardmachines.learning.solvers import Answer, Question, Solvers
from rewardmachines.learning.task import LearningTask, trace_order
from rewardmachines.learning.tree import CallBranch, TraceTree
from rewardmachines.traces import Outcome, Trace

Judge: TypeAlias = Callable[[Hierarchy], Sequence[GivenUp]]
"""A judgement of a hierarchy on all traces: those that it does not explain."""
Tell: TypeAlias = Callable[[int, int, int], None]
"""Told the size, the number of mistakes proved so far, and the number of traces told."""


class TolerantTree(TraceTree):
    """The prefix tree of traces that may contradict each other: several outcomes may stand at the same node."""

    def __init__(self, task: LearningTask, traces: Iterable[Trace], limits: SearchLimits) -> None:
        """Grows the tree.

        Args:
            task: The space of machines; its own traces do not matter.
            traces: The traces.
            limits: The limits of the search.
        """
        self.told = tuple(sorted(traces, key=trace_order))
        self.ends: dict[int, list[Trace]] = defaultdict(list)
        """The traces that end at each node."""
        super().__init__(task, limits, traces=self.told)

    def _end(self, node: int, trace: Trace) -> None:
        self.ends[node].append(trace)

    def _ends_stuck(self, node: int) -> bool:
        return any(trace.outcome is not Outcome.INCOMPLETE for trace in self.ends.get(node, ()))


class TolerantEncoding(SatEncoding):
    """Clauses that any machine of the size satisfies, with the error variables of the traces that it gets wrong."""

    tree: TolerantTree

    def __init__(self, task: LearningTask, tree: TolerantTree, inner: int, limits: SearchLimits) -> None:
        self.errors: dict[Trace, int] = {}
        """For each trace, a variable that is true if the machine does not explain it."""
        self._past: dict[int, int] = {}
        """For each node, a variable that makes all traces wrong that go through it or end there."""
        super().__init__(task, tree, inner, limits)

    def _walks(self) -> None:
        self.errors = {trace: self.builder.new() for trace in self.tree.told}
        if self.task.options.prefix_knowledge:
            self._pass_ends()
        super()._walks()
        for number, traces in self.tree.ends.items():
            self.builder.check()
            for trace in traces:
                self._wrong_end(number, trace)

    def _call(self, run: CallBranch, target: int, unless: Clause) -> None:
        """A call that starts here leads to where it ends; traces with an end at which it still runs are wrong."""
        for node in run.stuck:
            for trace in self.tree.ends[node]:
                if trace.outcome is not Outcome.INCOMPLETE:
                    self.builder.clauses.append([*unless, self.errors[trace]])
        for node in run.rejects:
            self._lead(node, REJECT, unless)
        for node in run.returns:
            self._lead(node, target, unless)

    def _lead(self, node: int, target: int, unless: Clause) -> None:
        there = self.at[node][target] if target >= 0 else self._in_terminal(node, target)
        self.builder.clauses.append([*unless, there])

    def _in_terminal(self, node: int, target: int) -> int:
        is_new = (self.tree.moment[node], target) not in self._terminal
        terminal = super()._in_terminal(node, target)
        if is_new and self.task.options.prefix_knowledge:
            meant = Outcome.GOAL if target == ACCEPT else Outcome.DEAD_END
            wrong = [self.errors[trace] for trace in self.tree.ends.get(node, ()) if trace.outcome is not meant]
            wrong += [self._past[child] for child in self.tree.nodes[node].children.values()]
            self.builder.clauses.extend([-terminal, error] for error in wrong)
        return terminal

    def _pass_ends(self) -> None:
        """Gives each node a variable that makes all traces through it wrong: they went on after the machine's end."""
        for number in reversed(range(len(self.tree.nodes))):
            self.builder.check()
            wrong = [self.errors[trace] for trace in self.tree.ends.get(number, ())]
            wrong += [self._past[child] for child in self.tree.nodes[number].children.values()]
            if len(wrong) == 1:
                self._past[number] = wrong[0]
            else:
                self._past[number] = self.builder.new()
                self.builder.clauses.extend([-self._past[number], error] for error in wrong)

    def _wrong_end(self, number: int, trace: Trace) -> None:
        """Makes a trace wrong if the walk is, at its end, in a state that gives another verdict."""
        moment, error = self.tree.moment[number], self.errors[trace]
        knows_prefixes = self.task.options.prefix_knowledge
        if trace.outcome is not Outcome.INCOMPLETE:
            if moment != number and knows_prefixes:
                self.builder.clauses.append([error])  # it ends with a label on which nothing can happen
            self.builder.clauses.extend([-at, error] for at in self.at[moment])
        if not knows_prefixes:
            for target, meant in ((ACCEPT, Outcome.GOAL), (REJECT, Outcome.DEAD_END)):
                if trace.outcome is not meant:
                    self.builder.clauses.append([-self._in_terminal(number, target), error])


@dataclass
class WeighedAnswer(Answer):
    """The answer of a MaxSAT solver; `bound` rises while it works."""

    bound: int = 0

    def take(self, message: dict[str, object]) -> None:
        """Takes in a message of the protocol."""
        if "bound" in message:
            assert isinstance(message["bound"], int)
            self.bound = message["bound"]
        if "done" in message or "model" in message:
            super().take(message)


class Tolerance:
    """The search for machines with few mistakes, size after size; what was told of the traces is kept."""

    def __init__(
        self,
        task: LearningTask,
        traces: Mapping[Trace, int],
        solvers: Solvers,
        judge: Judge,
        limits: SearchLimits,
        tell: Tell = lambda _states, _bound, _told: None,
    ) -> None:
        """Prepares the search.

        Args:
            task: The space of machines; its own traces do not matter.
            traces: All traces with their weights.
            solvers: The solver processes.
            judge: The judgement of a hierarchy on all traces.
            limits: The limits of the search.
            tell: Told of the progress.
        """
        # Whether machines may reject depends on the outcomes of all traces.
        some = max(traces, key=lambda trace: (trace.outcome is Outcome.DEAD_END, -len(trace)))
        self._task = replace(task, traces=(some,))
        self._traces = traces
        self._solvers = solvers
        self._judge = judge
        self._limits = limits
        self._tell = tell
        self._known: dict[Trace, int] = {}
        """The number of labels that are told of each trace; one more than it has where its outcome is told, too."""
        self.bound = 0
        """The number of mistakes that are proved of the size of the last search, also when it was not finished."""

    def add(self, sample: Iterable[Trace]) -> None:
        """Tells what these traces, or those of which they are the beginnings, have shown to matter."""
        for shown in self._limits.checked(sample):
            for trace in self._traces:
                if trace == shown:
                    self._know(trace, len(trace) + 1)
                elif shown.outcome is Outcome.INCOMPLETE and trace.labels[: len(shown)] == shown.labels:
                    self._know(trace, len(shown))

    def search(self, states: int, most: int) -> RewardMachine | None:
        """A machine of that size with at most so many mistakes on all traces, or None if there is none.

        Raises:
            BudgetExceeded: if a limit is reached.
        """
        self.bound = 0
        while True:
            machine = self._attempt(states, most)
            if machine is None:
                return None
            wrong = self._judge(self._task.hierarchy(machine))
            if sum(given_up.weight for given_up in wrong) <= most:
                return machine
            self._exclude(wrong, most)

    def refute(self, states: int, most: int) -> tuple[MistakeBound, RewardMachine | None]:
        """Like `search`, with what was proved; a limit that is reached ends it without a machine."""
        began = time.monotonic()
        machine: RewardMachine | None = None
        reason: Reason | None = None
        try:
            machine = self.search(states, most)
        except BudgetExceeded as exceeded:
            reason = exceeded.reason
        except MemoryError:
            reason = "memory"
        return MistakeBound(states, self.bound, len(self._known), time.monotonic() - began, reason), machine

    def _attempt(self, states: int, most: int) -> RewardMachine | None:
        """A machine with the fewest mistakes on what is told, or None if these are more than `most`."""
        told = self._told()
        tree = TolerantTree(self._task, told, self._limits)
        encoding = TolerantEncoding(self._task, tree, states - 1, self._limits)
        question = Question(encoding.clauses, variables=encoding.described)
        soft = [(-error, told[trace]) for trace, error in encoding.errors.items()]
        answer = WeighedAnswer()
        try:
            self._solvers.weigh(
                question, soft, most, lambda: answer, self._limits, lambda: self._tell(states, answer.bound, len(told))
            )
        finally:
            self.bound = max(self.bound, answer.bound)
        return None if answer.model is None else encoding.machine(answer.model)

    def _told(self) -> Counter[Trace]:
        """What is told of the traces, with the sums of their weights."""
        told: Counter[Trace] = Counter()
        for trace, known in self._known.items():
            told[trace if known > len(trace) else Trace(trace.labels[:known])] += self._traces[trace]
        return told

    def _exclude(self, wrong: Iterable[GivenUp], most: int) -> None:
        """Tells the shortest errors of a machine, until it has more mistakes on what is told than it may."""
        mistakes, is_new = 0, False
        for given_up in sorted(wrong, key=lambda g: (len(g.error), trace_order(g.trace))):
            if mistakes > most:
                break
            trace = given_up.trace
            is_new |= self._know(trace, len(trace) + 1 if given_up.error == trace else len(given_up.error))
            mistakes += given_up.weight
        if not is_new:
            raise AssertionError("a solver gave a machine with more mistakes than it says")

    def _know(self, trace: Trace, length: int) -> bool:
        """Tells a trace up to there; whether that is new."""
        is_new = self._known.get(trace, 0) < length
        if is_new:
            self._known[trace] = length
        return is_new
