"""What an environment looks like at a moment: as pixels, as text, in a window."""

from __future__ import annotations

from typing import Any

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.scenario import Scenario
from rewardmachines.library import CRAFTWORLD


def picture(place: Scenario, state: Any, *, size: int | None = None) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Red, green and blue of every pixel; about `size` pixels wide and high, if given."""
    if place.domain.name == CRAFTWORLD:
        from rewardmachines.envs.craftworld.render import render as render_grid

        things = place.instances[int(state.instance)].things
        tile = 32 if size is None else max(8, size // len(things))
        return render_grid(things, int(state.x), int(state.y), int(state.direction), tile=tile)
    from rewardmachines.envs.waterworld.render import render as render_box

    agent, velocity, balls = _in_box(place, state)
    colours = place.instances[int(state.instance)].colours
    return render_box(agent, velocity, balls, colours, size=400 if size is None else size)


def text(place: Scenario, state: Any, *, colour: bool = True) -> str:
    """For a terminal."""
    if place.domain.name == CRAFTWORLD:
        from rewardmachines.envs.craftworld.render import render_text as grid_text

        things = place.instances[int(state.instance)].things
        return grid_text(things, int(state.x), int(state.y), int(state.direction), colour=colour)
    from rewardmachines.envs.waterworld.render import render_text as box_text

    agent, _, balls = _in_box(place, state)
    return box_text(agent, balls, place.instances[int(state.instance)].colours, colour=colour)


def _in_box(place: Scenario, state: Any) -> tuple[tuple[float, float], tuple[float, float], Any]:
    (x, y), (vx, vy) = (np.asarray(pair, float).tolist() for pair in (state.position, state.velocity))
    balls = np.asarray(place.world.balls)[int(state.instance), int(state.time), :, :2]
    return (x, y), (vx, vy), balls


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

    def show(self, pixels: np.ndarray[Any, np.dtype[np.uint8]], frames_per_second: float) -> None:
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
