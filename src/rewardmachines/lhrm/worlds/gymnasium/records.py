"""Records of Gymnasium environments, which cannot be saved: what must be done to bring others to the same moment."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.agents.gymnasium.episode_records import EpisodeRecord


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
