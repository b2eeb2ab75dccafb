"""What becomes of searches for machines: events to tell, and setbacks to come back to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from rewardmachines.learning import TimedOut, Unsatisfiable
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.traces import Outcome, Trace


class Cause(Enum):
    """Why a machine was learned, or none.

    GOALS: enough goal traces were collected. COUNTEREXAMPLE: the machine before was wrong about a trace. CALLEE: a
    machine that it calls is new. PROBLEM: none was found, and the task was given up.
    """

    GOALS = "goals"
    COUNTEREXAMPLE = "counterexample"
    CALLEE = "callee"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Event:
    """A machine that is new, or a task that was given up."""

    task: str
    cause: Cause
    states: int
    """How many states the machine has. The rejecting state counts only if an edge leads to it."""
    edges: int
    calls: int
    """How often a solver was called for the task, from the beginning of the run."""
    goals: int
    """How many examples are goal traces."""
    dead_ends: int
    """How many examples are dead ends."""
    incompletes: int
    """How many examples are incomplete traces."""
    message: str | None = None
    """Why the task was given up, in words."""


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
    """Goal traces that have come in since the search failed."""

    def wanted(self, first: int) -> int:
        """How many new goal traces the next search waits for: twice as many after each failure."""
        return first << (self.attempts - 1)

    def collected(self, traces: Iterable[Trace]) -> Setback:
        """The setback after more traces; new goal traces among them are kept."""
        goals = {trace.compressed() for trace in traces if trace.outcome is Outcome.GOAL}
        return replace(self, fresh=self.fresh | (goals - set(self.traces)))


def explain_failure(name: str, result: TimedOut | Unsatisfiable, config: LhrmConfig) -> str:
    """Why a search found no machine, in words, and what can be done about it."""
    if isinstance(result, TimedOut):
        found, advice = {
            "time": (f"in {config.learner_seconds:g} s", "give the learner more time (learner_seconds)"),
            "memory": (f"with {config.learner_memory} GiB", "give the learner more memory (learner_memory)"),
            "killed": ("because a solver was killed", "see that there is enough memory"),
        }[result.reason]
        least = f"it has at least {result.bound} states"
        return f"{name}: no machine was found {found}: {least}; {advice}, or callables that help"
    return f"{name}: no machine with at most {result.max_states} states explains its examples"
