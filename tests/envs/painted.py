"""A small world that shows itself as a grid of planes and can be rendered, made by functions of many kinds."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rewardmachines.envs import LabelingWrapper

SIDE = 5


class Field(gymnasium.Env[Any, Any]):
    """A field of 5 x 5 cells; one walks right and left in its first row, from one end to the other."""

    def __init__(self, render_mode: str | None = None) -> None:
        self.metadata, self.render_mode = {"render_modes": ["rgb_array", "ansi"]}, render_mode
        self.observation_space = spaces.Box(0, 1, (2, SIDE, SIDE), np.float32)
        self.action_space = spaces.Discrete(2)

    def _seen(self) -> Any:
        planes = np.zeros((2, SIDE, SIDE), np.float32)
        planes[0, 0, self.cell] = planes[1, 0, SIDE - 1] = 1
        return planes

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 1 + (seed or 0) % 3
        return self._seen(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.cell = int(np.clip(self.cell + (1 if action == 1 else -1), 0, SIDE - 1))
        return self._seen(), 0.0, False, False, {}

    def render(self) -> Any:
        picture = np.full((SIDE, SIDE, 3), 220, np.uint8)
        picture[0, self.cell] = (200, 0, 0)
        return picture


def _labels(planes: Any) -> set[str]:
    return {0: {"left"}, SIDE - 1: {"right"}}.get(int(planes[0, 0].argmax()), set())


def make(render_mode: str | None = None) -> Any:
    field = gymnasium.wrappers.TimeLimit(Field(render_mode), 20)
    return LabelingWrapper(field, labels=_labels, propositions=["left", "right"])


def make_unseen() -> Any:
    """Takes no render mode."""
    return make()


def make_spoken() -> Any:
    """Renders no pixels."""
    return make("ansi")


def make_picture(render_mode: str | None = None) -> Any:
    """Shows what it renders."""
    pixels = gymnasium.wrappers.AddRenderObservation(Field(render_mode or "rgb_array"), render_only=True)
    field = gymnasium.wrappers.TimeLimit(pixels, 20)
    return LabelingWrapper(field, labels=_labels_of_picture, propositions=["left", "right"])


def _labels_of_picture(picture: Any) -> set[str]:
    return {0: {"left"}, SIDE - 1: {"right"}}.get(int(picture[0, :, 1].argmin()), set())


def flat(picture: Any) -> Any:
    """A picture as a row of numbers."""
    return picture.reshape(-1) / 255


def make_bare() -> Any:
    """Has no labels."""
    return Field()


def make_number() -> int:
    """Makes no environment."""
    return 3


def make_nothing() -> None:
    """Fails."""
    raise ValueError("out of paint")


paint = "not a function"
