"""The traces that a task's machine is learned from, and when there is something to learn (Section 5).

Before the first machine only goal traces are kept, until there are enough of them; the shortest make the first set of
examples. Afterwards a trace is added whenever the machine gets it wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.learning.oracles import shortest, trace_order
from rewardmachines.traces import Outcome, Trace

FIRST_EXAMPLES: Final = 10


def mistake(said: Verdict, *, terminal: bool, goal: bool) -> Outcome | None:
    """The outcome of the trace so far if the machine is wrong about it, checked at every step.

    At the end the machine must have accepted a goal and rejected a dead end; before it, it must have done neither.
    """
    if not terminal:
        return None if said is Verdict.NEITHER else Outcome.INCOMPLETE
    outcome = Outcome.GOAL if goal else Outcome.DEAD_END
    return None if said is outcome.verdict else outcome


@dataclass(frozen=True)
class Examples:
    """Of one task. Every change is a new one."""

    wanted: int
    """Goal traces before the first machine."""
    first: int = FIRST_EXAMPLES
    """How many of them, the shortest, the first machine is learned from."""
    goals: frozenset[Trace] = frozenset()
    """Collected before the first machine; thrown away with it."""
    vain: int = 0
    """Goal traces since the last new one. There may be fewer different ones than are wanted."""
    traces: tuple[Trace, ...] = ()
    """What the machine must explain, in the order in which it came."""

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.wanted:
            raise RewardMachineError(f"the first machine comes from 1 to {self.wanted} goal traces, not {self.first}")

    @property
    def has_begun(self) -> bool:
        """Whether there are examples, and so a machine or the attempt to learn one."""
        return bool(self.traces)

    @property
    def is_ready(self) -> bool:
        """Whether the first machine can be learned: there are enough goal traces, or no new ones come any more."""
        return not self.has_begun and (len(self.goals) >= self.wanted or self.vain >= self.wanted)

    def collected(self, trace: Trace) -> Examples:
        """One more goal trace; a trace that is known already does not count, and others are not kept."""
        if self.has_begun or trace.outcome is not Outcome.GOAL or self.is_ready:
            return self
        if (trace := trace.compressed()) in self.goals:
            return replace(self, vain=self.vain + 1)
        return replace(self, goals=self.goals | {trace}, vain=0)

    def begun(self) -> Examples:
        """With the shortest goal traces as examples."""
        if not self.is_ready:
            raise RewardMachineError(f"{len(self.goals)} goal traces are too few: {self.wanted} are wanted")
        return replace(self, goals=frozenset(), vain=0, traces=tuple(shortest(self.goals, self.first)))

    def added(self, trace: Trace) -> Examples:
        """With a counterexample."""
        trace = trace.compressed()
        if trace in self.traces:
            raise RewardMachineError(f"a trace that is among the examples was explained wrongly: {trace}")
        return replace(self, traces=(*self.traces, trace))

    def counted(self, outcome: Outcome) -> int:
        return sum(trace.outcome is outcome for trace in self.traces)


def first_counterexample(hierarchy: Hierarchy, traces: Iterable[Trace]) -> Trace | None:
    """The shortest of the traces that the hierarchy gets wrong: those of one chunk are judged together."""
    wrong = [trace for trace in traces if verdict(hierarchy, trace.labels) is not trace.outcome.verdict]
    return min(wrong, key=trace_order, default=None)
