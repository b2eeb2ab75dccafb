"""Renderings of a state: as pixels, as text, in a window."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from PIL import Image

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.files.extras import to_install
from rewardmachines.files.writing import write_aside

PICTURE_SIZE: Final = 448
"""About how many pixels a picture is wide and high where the hierarchy is drawn beside it."""
_GAP: Final = 4
"""Columns between the text of an environment and what stands beside it."""


def picture(scenario: Scenario, state: Any, *, size: int | None = None) -> Pixels:
    """Red, green and blue of every pixel; about `size` pixels wide and high, if given.

    Raises:
        RewardMachineError: The domain has no picture.
    """
    draw = scenario.domain.picture
    if draw is None:
        raise RewardMachineError(f"{scenario.domain.title} cannot be drawn: its Domain has no `picture`")
    return draw(scenario.instances[int(state.instance)], scenario.world, state, size)


def text(scenario: Scenario, state: Any, *, colour: bool = True) -> str:
    """The state as text for a terminal; as numbers, if the domain has no text."""
    write = scenario.domain.text
    if write is None:
        return str(jax.tree.map(lambda part: np.asarray(part).tolist(), state))
    return write(scenario.instances[int(state.instance)], scenario.world, state, colour)


def save_picture(pixels: Pixels, path: str | Path) -> None:
    """Writes a PNG, aside first and then renamed."""
    written = BytesIO()
    Image.fromarray(pixels).save(written, "PNG", optimize=True)
    write_aside(path, written.getvalue())


def text_beside(scenario: Scenario, state: Any, lines: Sequence[str]) -> str:
    """The environment as coloured text, with lines of text to its right."""
    coloured = text(scenario, state).splitlines()
    widths = [len(line) for line in text(scenario, state, colour=False).splitlines()]  # colours take no columns
    column = max(widths) + _GAP
    rows = zip_longest(coloured, widths, lines)
    return "\n".join((left or "") + " " * (column - (width or 0)) + (right or "") for left, width, right in rows)


class Window:
    """A window that shows one picture after the other."""

    def __init__(self, title: str) -> None:
        try:
            import pygame
        except ImportError:
            raise RewardMachineError(
                f"render_mode='human' needs pygame: {to_install('human')}; or use render_mode='rgb_array'"
            ) from None
        self._pygame = pygame
        self._title = title
        self._screen: Any = None
        self._clock = pygame.time.Clock()

    def show(self, pixels: Pixels, frames_per_second: float) -> None:
        """Shows a picture, after waiting so that there are not more frames in a second."""
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
        """Closes the window."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
