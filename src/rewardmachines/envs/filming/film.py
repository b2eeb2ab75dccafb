"""A film of an episode: its shots, and how they become frames of one size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, overload

import numpy as np

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming.caption import Caption, draw_caption
from rewardmachines.envs.filming.hierarchy_view import PAPER, HierarchyView, hierarchy_view
from rewardmachines.envs.filming.saving import save_film

LOWEST: Final = 320
"""The least height of a drawn hierarchy in pixels; below a world that is less high, there is room."""


@dataclass(frozen=True, eq=False)
class Shot:
    """A moment of an episode."""

    picture: Callable[[], Pixels]
    """Draws the world as it was: red, green and blue of every pixel. Pictures of one film are of one size."""
    state: HierarchyState
    """The state of the hierarchy."""
    caption: Caption


@dataclass(frozen=True, eq=False)
class Film:
    """An episode that was recorded. Nothing is drawn before its frames are asked for."""

    hierarchy: Hierarchy
    """The hierarchy that the states of its shots belong to."""
    shots: Sequence[Shot]

    def frames(self) -> Sequence[Pixels]:
        """The frames, each drawn when it is asked for: the world, beside it the hierarchy, and the caption below both.

        Getting one raises a RewardMachineError if the world cannot be drawn.
        """
        return _Frames(self)

    def save(self, *paths: Path) -> tuple[int, int]:
        """Draws the film and writes it: GIFs, pages with a player, or videos, as the suffixes say.

        Returns:
            The width and the height of its frames in pixels.

        Raises:
            RewardMachineError: The world cannot be drawn, or a film cannot be written like that.
        """
        frames, title = self.frames(), self.shots[0].caption.task if self.shots else ""
        save_film(frames, *paths, title=title)
        return frames[0].shape[1], frames[0].shape[0]


class _Frames(Sequence[Pixels]):
    """The frames of a film. Hundreds of them would take a gigabyte, so none is kept."""

    def __init__(self, film: Film) -> None:
        self._film = film
        self._view = cache(self._choose_view)

    def __len__(self) -> int:
        return len(self._film.shots)

    @overload
    def __getitem__(self, number: int) -> Pixels: ...

    @overload
    def __getitem__(self, number: slice) -> list[Pixels]: ...

    def __getitem__(self, number: int | slice) -> Pixels | list[Pixels]:
        shots = self._film.shots[number]
        return self._frame(shots) if isinstance(shots, Shot) else [self._frame(shot) for shot in shots]

    def _frame(self, shot: Shot) -> Pixels:
        world = shot.picture()
        view = self._view(max(LOWEST, world.shape[0]))
        both = np.concatenate([_padded(world, view.height), view.at(shot.state)], axis=1)
        return np.concatenate([both, draw_caption(shot.caption, both.shape[1])])

    def _choose_view(self, height: int) -> HierarchyView:
        return hierarchy_view(self._film.hierarchy, [shot.state for shot in self._film.shots], height)


def _padded(world: Pixels, height: int) -> Pixels:
    """The picture of a world with room below it, where the hierarchy beside it is higher."""
    missing = height - world.shape[0]
    room = np.full((missing, *world.shape[1:]), PAPER, np.uint8)
    return np.concatenate([world, room]) if missing else world
