"""What an environment looks like at a moment: as pixels, as text, in a window."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.scenario import Scenario


def picture(place: Scenario, state: Any, *, size: int | None = None) -> Pixels:
    """Red, green and blue of every pixel; about `size` pixels wide and high, if given.

    Raises:
        RewardMachineError: Nobody has said how to draw the domain.
    """
    draw = place.domain.picture
    if draw is None:
        raise RewardMachineError(f"{place.domain.title} cannot be drawn: its Domain has no `picture`")
    return draw(place.instances[int(state.instance)], place.world, state, size)


def text(place: Scenario, state: Any, *, colour: bool = True) -> str:
    """For a terminal; the state as it is, where nobody has said how to write the domain."""
    write = place.domain.text
    if write is None:
        return str(jax.tree.map(lambda part: np.asarray(part).tolist(), state))
    return write(place.instances[int(state.instance)], place.world, state, colour)


class Window:
    """A window that shows one picture after the other."""

    def __init__(self, title: str) -> None:
        try:
            import pygame
        except ImportError:
            raise RewardMachineError(
                "render_mode='human' needs pygame: pip install 'rewardmachines[human]', or use render_mode='rgb_array'"
            ) from None
        self._pygame = pygame
        self._title = title
        self._screen: Any = None
        self._clock = pygame.time.Clock()

    def show(self, pixels: Pixels, frames_per_second: float) -> None:
        height, width, _ = pixels.shape
        if self._screen is None:
            self._pygame.display.init()
            self._screen = self._pygame.display.set_mode((width, height))
            self._pygame.display.set_caption(self._title)
        self._screen.blit(self._pygame.surfarray.make_surface(pixels.transpose(1, 0, 2)), (0, 0))
        self._pygame.event.pump()
        self._pygame.display.flip()
        self._clock.tick(frames_per_second)

    def close(self) -> None:
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
