"""An episode in the form in which baselines take it. This file is loaded by processes that search, so without JAX."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rewardmachines.core.formula import Label
from rewardmachines.traces import Outcome


@dataclass(frozen=True)
class FlatEpisode:
    """An episode without its repetitions: labels that equal the one before are left out, empty ones are kept.

    Of a run of equal labels the first one counts, with its reward: that of a label that is left out is lost, as in the
    published code of JIRP.
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
        """The reward of each label: 1 for that with which the episode reached the goal, 0 for all others."""
        return tuple([int(self.outcome is Outcome.GOAL and time == self.steps) for time in self.times])

    @property
    def has_ended(self) -> bool:
        """Whether it ended, at the goal or in a dead end, rather than being cut off."""
        return self.outcome is not Outcome.INCOMPLETE

    def without_first_state(self) -> FlatEpisode:
        """The episode from the label after the first step on: the traces of JIRP and DeepSynth begin there."""
        if self.steps == 0:
            return replace(self, labels=(), times=())
        if self.times[1:2] == (1,):
            return replace(self, labels=self.labels[1:], times=self.times[1:])
        return replace(self, times=(1, *self.times[1:]))  # the label of the first state was still there
