"""Searches that found no machine, and the condition for repeating them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rewardmachines.learning import TimedOut, Unsatisfiable
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.traces import Outcome, Trace


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
