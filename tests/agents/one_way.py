"""A row of cells in which the nearest key lies in a pit: whoever takes it never gets to the door."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

CELLS, START, PIT, KEY, DOOR = 9, 3, 1, 6, 8
TASK = rm.compile_task("key ; door")
LABELS = [set[str](), {"key"}, {"door"}]


class OneWay(gymnasium.Env[Any, Any]):
    """Nine cells in a row, left and right. Nobody gets out of the pit, which holds a key that is two steps away."""

    observation_space = spaces.Discrete(CELLS)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = START
        return self.cell, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.cell != PIT:
            self.cell = int(np.clip(self.cell + (-1, 1)[action], 0, CELLS - 1))
        return self.cell, 0.0, False, False, {}


def make(steps: int = 20, task: rm.Hierarchy = TASK) -> HierarchyWrapper:
    """The row with its labels and the task, in episodes of at most so many steps."""
    row = gymnasium.wrappers.TimeLimit(OneWay(), steps)
    places = {PIT: {"key"}, KEY: {"key"}, DOOR: {"door"}}
    labelled = LabelingWrapper(row, labels=lambda cell: places.get(cell, set()), propositions=["key", "door", "window"])
    return HierarchyWrapper(labelled, task)
