"""Oracles: sources of traces that a machine does not explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from rewardmachines.core.equivalence import difference
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import Labels
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import Verdict, traverse, verdict, verdict_of
from rewardmachines.traces import Outcome, Trace

FIRST_TRACES: Final = 10
"""The number of goal traces from which the first machine is learned: the shortest of those collected."""


@runtime_checkable
class Oracle(Protocol):
    """A source of examples: recorded traces, a known hierarchy, or episodes in an environment."""

    def goal_traces(self) -> Iterable[Trace]:
        """Traces that reach the goal, to begin with."""

    def counterexamples(self, hierarchy: Hierarchy) -> Sequence[Trace]:
        """Traces to which the hierarchy gives the wrong verdict, the best first; none if none is found."""


@dataclass(frozen=True)
class TraceOracle:
    """Knows recorded traces and nothing else."""

    traces: Sequence[Trace]

    def goal_traces(self) -> Iterable[Trace]:
        return [trace for trace in self.traces if trace.outcome is Outcome.GOAL]

    def counterexamples(self, hierarchy: Hierarchy) -> Sequence[Trace]:
        wrong = [t for t in self.traces if verdict(hierarchy, t.labels) is not t.outcome.verdict]
        return shortest(wrong, 1)


@dataclass(frozen=True)
class HierarchyOracle:
    """Knows the truth: answers with a shortest trace on which a hierarchy is wrong."""

    truth: Hierarchy
    labels: Labels = None
    events: bool = True

    def goal_traces(self) -> Iterable[Trace]:
        """The shortest trace that reaches the goal, if there is any."""
        nothing = Hierarchy("nothing", (machine("nothing", []),), self.truth.propositions)
        word = difference(self.truth, nothing, labels=self.labels, events=self.events)
        return [] if word is None else [self._trace(word)]

    def counterexamples(self, hierarchy: Hierarchy) -> Sequence[Trace]:
        word = difference(self.truth, hierarchy, labels=self.labels, events=self.events)
        return [] if word is None else [self._trace(word)]

    def _trace(self, word: tuple[frozenset[str], ...]) -> Trace:
        return Trace(word, Outcome.of(verdict(self.truth, word)))


def first_error(hierarchy: Hierarchy, trace: Trace) -> Trace | None:
    """The shortest part of an episode that the hierarchy gets wrong: it ends too early, too late or in the wrong way.

    The episode went on after every label but the last, so its proper prefixes are incomplete.
    """
    last = len(trace)
    for position, state in enumerate(traverse(hierarchy, trace.labels)):
        given = verdict_of(hierarchy, state)
        if position < last and given is not Verdict.NEITHER:
            return Trace(trace.labels[:position])
        if position == last and given is not trace.outcome.verdict:
            return trace
    return None


def trace_order(trace: Trace) -> tuple[int, list[list[str]]]:
    """The key by which traces are sorted: by length, then by the names of their propositions."""
    return len(trace), [sorted(label) for label in trace.labels]


def shortest(traces: Iterable[Trace], count: int = FIRST_TRACES) -> list[Trace]:
    """The `count` shortest traces, without repetition."""
    return sorted(set(traces), key=trace_order)[:count]
