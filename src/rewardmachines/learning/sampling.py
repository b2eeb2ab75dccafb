"""Sizes refuted with a few of very many traces: what does not explain some of them does not explain all.

The few are those that machines of earlier attempts did not explain. A machine that explains all traces although it was
searched for with few of them proves that its size suffices; which machine of that size is learned is then decided by
all traces together, so that it does not depend on the few.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.sat import SatEncoding
from rewardmachines.learning.solvers import Question, Solvers, Tick
from rewardmachines.learning.task import LearningTask
from rewardmachines.learning.tree import TraceTree
from rewardmachines.traces import Outcome, Trace

MANY_LABELS: Final = 20_000
"""Tasks with fewer labels in all are searched as a whole."""
PORTION: Final = 10
"""The number of traces of each outcome in the first sample, and of those that each attempt adds."""


def is_large(task: LearningTask) -> bool:
    """Whether it is better to refute sizes with a few of the traces."""
    return len(task.traces) > PORTION * len(Outcome) and sum(map(len, task.traces)) > MANY_LABELS


class Sample:
    """Some traces of a task. They become more from attempt to attempt, and from size to size."""

    def __init__(self, task: LearningTask, solvers: Solvers, limits: SearchLimits) -> None:
        self._task = task
        self._solvers = solvers
        self._limits = limits
        # Some of each outcome: with a dead end among them, machines may reject.
        self._traces = {t for outcome in Outcome for t in islice(_of(outcome, task.traces), PORTION)}

    def machine(self, states: int, tick: Tick) -> RewardMachine | None:
        """A machine of that size that explains all traces of the task, or None if there is none.

        Raises:
            BudgetExceeded: if a limit of the search is reached.
        """
        while True:
            candidate = self._attempt(states, tick)
            if candidate is None:
                return None
            wrong = set(islice(self._unexplained(self._task.hierarchy(candidate)), PORTION))
            if not wrong:
                return candidate
            if wrong <= self._traces:
                raise AssertionError(f"a solver gave a machine that does not explain {min(wrong, key=len)}")
            self._traces |= wrong

    def _attempt(self, states: int, tick: Tick) -> RewardMachine | None:
        """A machine of that size that explains the traces of the sample."""
        task = replace(self._task, traces=tuple(t for t in self._task.traces if t in self._traces))
        encoding = SatEncoding(task, TraceTree(task, self._limits), states - 1, self._limits)
        phases = [-variable for variable in range(1, encoding.described + 1)]
        question = Question(encoding.clauses, phases, variables=encoding.described)
        answer = self._solvers.quick(question, self._limits, tick)
        model = self._solvers.decide(question, self._limits, tick) if answer is None else answer.model
        return None if model is None else encoding.machine(model)

    def _unexplained(self, hierarchy: Hierarchy) -> Iterable[Trace]:
        """The traces to which the hierarchy gives another verdict, or the right one too early."""
        for trace in self._limits.checked(self._task.traces):
            if verdict(hierarchy, trace.labels) is not trace.outcome.verdict or self._ends_early(hierarchy, trace):
                yield trace

    def _ends_early(self, hierarchy: Hierarchy, trace: Trace) -> bool:
        if not self._task.options.prefix_knowledge or trace.outcome is Outcome.INCOMPLETE:
            return False
        return verdict(hierarchy, trace.labels[:-1]) is not Verdict.NEITHER


def _of(outcome: Outcome, traces: Iterable[Trace]) -> Iterable[Trace]:
    return (trace for trace in traces if trace.outcome is outcome)
