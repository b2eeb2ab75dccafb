"""The outcomes of calls, computed before any search: the callees are known.

For every trace and step: which machines the label starts, and on which later label each of them returns or rejects. The
search then sees calls as edges that take several steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, can_start, initial_state, step, verdict_of


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The end of a call: with the label at `end`, or (None) not within the trace."""

    end: int | None
    returns: bool
    """False: it rejects, and the whole trace with it."""


def starting_labels(callee: Hierarchy, labels: Sequence[Label]) -> frozenset[Label]:
    """The labels on which the machine starts."""
    root = callee[callee.root]
    return frozenset(label for label in labels if can_start(callee, callee.root, root.initial, label))


def call_outcome(callee: Hierarchy, labels: Sequence[Label], start: int) -> CallOutcome:
    """The outcome of a call that the label at `start` starts."""
    state = initial_state(callee)
    for position in range(start, len(labels)):
        state = step(callee, state, labels[position])
        verdict = verdict_of(callee, state)
        if verdict is not Verdict.NEITHER:
            return CallOutcome(position, verdict is Verdict.ACCEPT)
    return CallOutcome(None, returns=False)
