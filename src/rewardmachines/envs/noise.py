"""Noise of a world: the probabilities with which an agent observes a wrong label or a wrong outcome.

A *label event*, a label that differs from the last one, is replaced, with a probability, by another label that can
occur, until the next event. The *outcome* with which an episode ends is changed, with a probability: from the goal to
incomplete, otherwise to the goal. What happens in the world does not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label


@dataclass(frozen=True)
class WorldNoise:
    """The probabilities of wrong labels and outcomes."""

    labels: float = 0.0
    """The probability that a label event is wrong."""
    outcomes: float = 0.0
    """The probability that the outcome of an episode is wrong."""

    def __post_init__(self) -> None:
        for what, rate in (("labels", self.labels), ("outcomes", self.outcomes)):
            if not 0 <= rate < 0.5:
                raise RewardMachineError(f"the share of wrong {what} is at least 0 and below 0.5, not {rate:g}")

    def __bool__(self) -> bool:
        return self.labels > 0 or self.outcomes > 0


NO_NOISE = WorldNoise()


def labels_that_occur(labels: Iterable[Label] | None, propositions: Iterable[str]) -> tuple[Label, ...]:
    """The labels that replace others; the empty one and single propositions, if any label can occur.

    Args:
        labels: The labels that can occur; None for all sets of propositions.
        propositions: The propositions.

    Raises:
        RewardMachineError: There is only one label.
    """
    single = (frozenset(), *(frozenset({proposition}) for proposition in propositions))
    found = tuple(dict.fromkeys(map(frozenset, single if labels is None else labels)))
    if len(found) < 2:
        raise RewardMachineError("labels can only be wrong if there are at least two of them")
    return found
