"""A trace is a sequence of labels and an outcome (Section 2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from rewardmachines.core.events import compress
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import Verdict


class Outcome(Enum):
    """How an episode stood after its last label."""

    GOAL = "goal"
    DEAD_END = "dead_end"
    INCOMPLETE = "incomplete"

    @property
    def verdict(self) -> Verdict:
        """What a hierarchy that explains the trace says of it."""
        return _VERDICTS[self]

    @staticmethod
    def of(verdict: Verdict) -> Outcome:
        """How an episode stood if this is the right verdict on its trace: the inverse of `verdict`."""
        return next(outcome for outcome in Outcome if outcome.verdict is verdict)


_VERDICTS = {Outcome.GOAL: Verdict.ACCEPT, Outcome.DEAD_END: Verdict.REJECT, Outcome.INCOMPLETE: Verdict.NEITHER}


@dataclass(frozen=True, slots=True)
class Trace:
    """The labels of an episode, one for each moment, and how it stood after the last one."""

    labels: tuple[Label, ...]
    outcome: Outcome = Outcome.INCOMPLETE

    def __len__(self) -> int:
        return len(self.labels)

    def compressed(self) -> Trace:
        """The trace of label events alone."""
        return Trace(compress(self.labels), self.outcome)


def singletons(propositions: Iterable[str]) -> tuple[Label, ...]:
    """The labels of an environment that shows at most one proposition at a time.

    Args:
        propositions: Those that it knows.

    Returns:
        The empty label, and one for each proposition.

    >>> [sorted(label) for label in singletons(["a", "b"])]
    [[], ['a'], ['b']]
    """
    return (frozenset(), *(frozenset({p}) for p in propositions))
