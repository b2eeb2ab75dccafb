"""The outcome of a call, from the definition: what the learner works out along branches is judged by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, initial_state, step, verdict_of


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The end of a call: with the label at `end`, or (None) not within the trace."""

    end: int | None
    returns: bool
    """False: it rejects, and the whole trace with it."""


def call_outcome(callee: Hierarchy, labels: Sequence[Label], start: int) -> CallOutcome:
    """The outcome of a call that the label at `start` starts."""
    state = initial_state(callee)
    for position in range(start, len(labels)):
        state = step(callee, state, labels[position])
        verdict = verdict_of(callee, state)
        if verdict is not Verdict.NEITHER:
            return CallOutcome(position, verdict is Verdict.ACCEPT)
    return CallOutcome(None, returns=False)
