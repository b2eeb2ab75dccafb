"""A film of an episode: its shots, and how they become frames of one size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming.caption import Caption, draw_caption
from rewardmachines.envs.filming.hierarchy_view import hierarchy_view
from rewardmachines.envs.filming.saving import save_film

LOWEST: Final = 320
"""The least height of a drawn hierarchy in pixels; below a world that is less high, there is room."""


@dataclass(frozen=True, eq=False)
class Shot:
    """A moment of an episode."""

    picture: Callable[[], Pixels]
    """Draws the world as it was: red, green and blue of every pixel. Pictures of one film are of one size."""
    state: HierarchyState
    """Where the hierarchy stands."""
    caption: Caption


@dataclass(frozen=True, eq=False)
class Film:
    """An episode that was recorded. Nothing is drawn before its frames are asked for."""

    hierarchy: Hierarchy
    """The hierarchy that the states of its shots belong to."""
    shots: Sequence[Shot]

    def frames(self) -> Iterator[Pixels]:
        """Draws the world on the left, the hierarchy on the right, and the caption below both.

        Raises:
            RewardMachineError: The world cannot be drawn.
        """
        view = None
        for shot in self.shots:
            world = shot.picture()
            if view is None:
                height = max(LOWEST, world.shape[0])
                view = hierarchy_view(self.hierarchy, [each.state for each in self.shots], height)
            both = np.concatenate([_padded(world, view.height), view.at(shot.state)], axis=1)
            yield np.concatenate([both, draw_caption(shot.caption, both.shape[1])])

    def save(self, *paths: Path) -> tuple[int, int]:
        """Draws the film once and writes it: GIFs, pages with a player, or videos, as the suffixes say.

        Returns:
            The width and the height of its frames in pixels.

        Raises:
            RewardMachineError: The world cannot be drawn, or a film cannot be written like that.
        """
        title = self.shots[0].caption.task if self.shots else ""
        frames = list(self.frames())
        for path in paths:
            save_film(frames, path, title=title)
        return frames[0].shape[1], frames[0].shape[0]


def _padded(world: Pixels, height: int) -> Pixels:
    """The picture of a world with room below it, where the hierarchy beside it is higher."""
    missing = height - world.shape[0]
    return np.pad(world, ((0, missing), (0, 0), (0, 0)), constant_values=255) if missing else world
