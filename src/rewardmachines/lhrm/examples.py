"""The examples of a task: the traces from which its machine is learned (Section 5).

Before the first machine, only goal traces are kept, until there are enough of them; the shortest form the first set of
examples. Afterwards every counterexample of the machine is added.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import verdict
from rewardmachines.learning.induction import shortest
from rewardmachines.learning.task import trace_order
from rewardmachines.traces import Outcome, Trace

FIRST_EXAMPLES: Final = 10


@dataclass(frozen=True)
class Examples:
    """The traces that are kept of one task. Changes make new examples."""

    wanted: int
    """The number of goal traces that are collected before the first machine."""
    first: int = FIRST_EXAMPLES
    """The number of the shortest collected goal traces from which the first machine is learned."""
    goals: frozenset[Trace] = frozenset()
    """Goal traces that were collected for the first machine; empty once it is learned."""
    repeats: int = 0
    """Consecutive goal traces that were known already. There may be fewer different traces than `wanted`."""
    traces: tuple[Trace, ...] = ()
    """The examples that the machine must explain, in the order in which they were added."""

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.wanted:
            raise RewardMachineError(f"the first machine comes from 1 to {self.wanted} goal traces, not {self.first}")

    @property
    def has_begun(self) -> bool:
        """Whether there are examples, and thus a machine or a failure."""
        return bool(self.traces)

    @property
    def is_ready(self) -> bool:
        """Whether the first machine can be learned: there are enough goal traces, or no new ones come any more."""
        return not self.has_begun and (len(self.goals) >= self.wanted or self.repeats >= self.wanted)

    def collected(self, trace: Trace) -> Examples:
        """The examples after one more trace, of which only new goal traces before the first machine are kept."""
        if self.has_begun or trace.outcome is not Outcome.GOAL or self.is_ready:
            return self
        if (trace := trace.compressed()) in self.goals:
            return replace(self, repeats=self.repeats + 1)
        return replace(self, goals=self.goals | {trace}, repeats=0)

    def begun(self) -> Examples:
        """The examples for the first machine: the shortest of the collected goal traces.

        Raises:
            RewardMachineError: Too few goal traces were collected.
        """
        if not self.is_ready:
            raise RewardMachineError(f"{len(self.goals)} goal traces are too few: {self.wanted} are wanted")
        return replace(self, goals=frozenset(), repeats=0, traces=tuple(shortest(self.goals, self.first)))

    def added(self, trace: Trace) -> Examples:
        """The examples with a counterexample.

        Raises:
            RewardMachineError: The trace is among them, so that the machine should have explained it.
        """
        trace = trace.compressed()
        if trace in self.traces:
            raise RewardMachineError(f"a trace that is among the examples was explained wrongly: {trace}")
        return replace(self, traces=(*self.traces, trace))

    def exactly(self, traces: frozenset[Trace]) -> Examples:
        """The examples with exactly these traces; new ones come last."""
        kept = [trace for trace in self.traces if trace in traces]
        return replace(self, traces=(*kept, *sorted(traces.difference(kept), key=trace_order)))

    def counted(self, outcome: Outcome) -> int:
        """The number of examples with an outcome."""
        return sum(trace.outcome is outcome for trace in self.traces)


def first_counterexample(hierarchy: Hierarchy, traces: Iterable[Trace]) -> Trace | None:
    """The shortest trace that the hierarchy misclassifies, if there is one.

    The traces of a chunk are judged together, because short examples make the search for a machine faster.
    """
    wrong = [trace for trace in traces if verdict(hierarchy, trace.labels) is not trace.outcome.verdict]
    return min(wrong, key=trace_order, default=None)
