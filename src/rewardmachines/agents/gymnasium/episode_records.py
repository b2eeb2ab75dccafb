"""Records of episodes in Gymnasium environments, which cannot be saved: what leads to the same moment again."""

from __future__ import annotations

from dataclasses import dataclass


class ReplayWarning(UserWarning):
    """Episodes could not be replayed, so that a run that is resumed goes on with others."""


@dataclass(frozen=True)
class EpisodeRecord:
    """An episode that is under way: how it began, what was done since, and what is seen at its present moment."""

    task: int
    """The number of its task."""
    instance: int
    """The number of its instance."""
    number: int
    """How many episodes the environment had begun before, of whichever task."""
    seed: int
    """The seed with which the environment was reset."""
    actions: tuple[int, ...]
    """The actions since, counted from 0."""
    label: tuple[str, ...]
    """The propositions that hold at the present moment, sorted."""
    observation: str
    """A digest of what is remembered of the present observation."""
