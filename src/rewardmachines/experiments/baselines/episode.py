"""An episode in the form in which baselines take it. This file is loaded by processes that search, so without JAX."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.core.formula import Label
from rewardmachines.traces import Outcome


@dataclass(frozen=True)
class FlatEpisode:
    """An episode without its repetitions: labels that equal the one before are left out, empty ones are kept.

    The reward of a label that is left out is lost, as in the published code of JIRP. Nothing is lost by it here: an
    episode is rewarded when it ends at the goal, and it only ends with a label that differs from the one before.
    """

    number: int
    """The number of the episode in its run, from 1."""
    labels: tuple[Label, ...]
    """The labels, that of the first state included."""
    times: tuple[int, ...]
    """The number of steps after which each of them was observed first; 0 for the first state."""
    outcome: Outcome
    """How it ended; incomplete, if it was cut off."""
    steps: int
    """The number of steps that were taken."""

    @property
    def rewards(self) -> tuple[int, ...]:
        """The reward of each label: 1 for the last one if the episode reached the goal, 0 for all others."""
        last = int(self.outcome is Outcome.GOAL)
        return (*(0 for _ in self.labels[1:]), last)

    @property
    def has_ended(self) -> bool:
        """Whether it ended, at the goal or in a dead end, rather than being cut off."""
        return self.outcome is not Outcome.INCOMPLETE
