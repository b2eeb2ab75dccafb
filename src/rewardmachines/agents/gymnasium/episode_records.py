"""Records of episodes in Gymnasium environments, which cannot be saved: what leads to the same moment again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardmachines.runs.records import added


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
    history: str = added("")
    """A digest of all labels and observations since the beginning, because other histories may lead to the same moment.
    Records of earlier versions have none."""


def are_playable(records: Sequence[EpisodeRecord], *, tasks: int, actions: int) -> bool:
    """Whether the numbers of records stand for tasks, seeds and actions that there are.

    Args:
        records: The records, which may be damaged.
        tasks: How many tasks there are.
        actions: How many actions there are.
    """
    return all(0 <= record.task < tasks and record.seed >= 0 for record in records) and all(
        0 <= action < actions for record in records for action in record.actions
    )


def lost_episodes(is_lost: Any) -> str:
    """The text of the warning for episodes that could not be replayed.

    Args:
        is_lost: A mask of them, one truth value for each environment.
    """
    return (
        f"{int(np.sum(is_lost))} of {len(is_lost)} episodes could not be replayed: after the same seed and the same "
        "actions, the environment shows something else. Others are begun, and the run will not be the same as without "
        "a break"
    )
