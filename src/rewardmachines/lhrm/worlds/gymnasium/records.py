"""Records of Gymnasium environments, which cannot be saved: what must be done to bring others to the same moment."""

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


@dataclass(frozen=True)
class SightRecord:
    """How often a label stood for something in the episodes of a task; see `dead_ends`."""

    task: str
    label: tuple[str, ...]
    sight: str
    times: int


@dataclass(frozen=True)
class WorldsRecord:
    """All that changes in the worlds of tasks in Gymnasium environments."""

    chance: str
    """The state of the generator that draws tasks and instances, as JSON."""
    episodes: tuple[EpisodeRecord, ...]
    """The episode that is under way in each environment."""
    evaluations: tuple[int, ...]
    """How many episodes each environment for evaluations has begun."""
    sights: tuple[SightRecord, ...]
    """What labels stood for."""
