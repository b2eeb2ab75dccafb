"""A corridor as an environment of one's own, and commands that train and learn in it, as a person would type them."""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rewardmachines.envs import LabelingWrapper

CELLS = 5
PLACES = {0: "left", CELLS - 1: "right"}
LENGTH = 30
"""Steps after which an episode is cut off."""


class Corridor(gymnasium.Env[Any, Any]):
    """Five cells in a row. An episode ends with reward 1 when places have been visited in their order."""

    def __init__(self, *route: str, render_mode: str | None = None) -> None:
        self.observation_space, self.action_space = spaces.Discrete(CELLS), spaces.Discrete(2)
        self.route, self.render_mode = route, render_mode

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell, self.left = int(self.np_random.integers(1, CELLS - 1)), list(self.route)
        return self.cell, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.cell = int(np.clip(self.cell + (1 if action else -1), 0, CELLS - 1))
        if self.left and PLACES.get(self.cell) == self.left[0]:
            self.left.pop(0)
        is_done = bool(self.route) and not self.left
        return self.cell, float(is_done), is_done, False, {}

    def render(self) -> Any:
        return np.full((60, 90, 3), 40 * self.cell, np.uint8)


class Moody(Corridor):
    """A corridor in which episodes begin where another chance than its own wants it."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = random.randrange(1, CELLS - 1)
        return self.cell, {}


def labelled(env: Corridor) -> Any:
    limited = gymnasium.wrappers.TimeLimit(env, LENGTH)
    return LabelingWrapper(limited, labels=lambda cell: {PLACES[cell]} if cell in PLACES else set(),
                           propositions=PLACES.values())  # fmt: skip


def make(render_mode: str | None = None) -> Any:
    """Has no goal of its own: a hierarchy says what to do."""
    return labelled(Corridor(render_mode=render_mode))


def make_out() -> Any:
    return labelled(Corridor("left", "right"))


def make_back(render_mode: str | None = None) -> Any:
    return labelled(Corridor("right", "left", render_mode=render_mode))


def make_round() -> Any:
    return labelled(Corridor("left", "right", "left"))


def make_moody() -> Any:
    return labelled(Moody("left", "right"))


_SETTINGS = (
    "chunk=20", "environments=10", "batch=32", "evaluate_every=2", "network.hidden=[16]", "calls.network.hidden=[8]",
    "learning_rate=0.003", "replay_size=2000", "replay_start=200", "exploration.steps=600",
    "calls.exploration.steps=20",
)  # fmt: skip
STEPS = 20 * 10
"""Of a chunk."""
SMALL = [word for setting in _SETTINGS for word in ("--set", setting)]
TRAIN = ["train", "cli.corridor:make", "left ; right", *SMALL, "--seed", "3"]
"""Trains to walk to one end and then to the other."""
FEW = [word for setting in ("goals=[5, 10]", "examples=5") for word in ("--set", setting)]
LEARN = ["learn", "cli.corridor:make_out", "there and back=cli.corridor:make_round@2", *SMALL, *FEW, "--seed", "3"]
"""Learns two tasks, of which one has a name and a level of its own."""
