"""Continuous actions as a choice among a few, for agents with discrete actions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rewardmachines.core.errors import RewardMachineError

MOST_CHOICES: Final = 256
"""The largest number of actions of a grid: the most that our agents can choose among."""


class DiscreteActions(gymnasium.ActionWrapper[Any, Any, Any]):
    """Replaces actions of a box by a grid of them: evenly spaced levels in every dimension, bounds included.

    Action `i` of the wrapped environment is `actions[i]`, a vector. With one level, a dimension stays in its middle.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], levels: int | Sequence[int] = 3) -> None:
        """Wraps an environment.

        Args:
            env: An environment whose actions are vectors within finite bounds.
            levels: The number of values in every dimension, or in each of them.

        Raises:
            RewardMachineError: Actions are no vectors within finite bounds, or the levels make no grid of 2 to 256.
        """
        super().__init__(env)
        box = _bounded_box(env.action_space)
        self.actions = _grid(box, _levels_of(box, levels))
        self.action_space = spaces.Discrete(len(self.actions))

    def action(self, action: int) -> NDArray[Any]:
        """The vector for which an action stands."""
        vector: NDArray[Any] = self.actions[action]
        return vector


def _bounded_box(space: spaces.Space[Any]) -> spaces.Box:
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        raise RewardMachineError(f"only vectors of continuous actions become discrete ones, not {space}")
    if not np.issubdtype(space.dtype, np.floating):
        raise RewardMachineError(f"actions are whole numbers already: {space}")
    if not space.is_bounded("both"):
        raise RewardMachineError(
            f"actions without bounds have no levels: {space}; give them some with gymnasium.wrappers.RescaleAction"
        )
    return space


def _levels_of(box: spaces.Box, levels: int | Sequence[int]) -> tuple[int, ...]:
    asked = (levels,) * box.shape[0] if isinstance(levels, int) else tuple(levels)
    if len(asked) != box.shape[0]:
        raise RewardMachineError(f"{len(asked)} numbers of levels for actions of {box.shape[0]} dimensions")
    if any(count < 1 for count in asked):
        raise RewardMachineError(f"every dimension has at least one level, not {min(asked)}")
    size = int(np.prod(np.asarray(asked, dtype=object)))
    if not 2 <= size <= MOST_CHOICES:
        raise RewardMachineError(f"{asked} levels make {size:,} actions: there must be 2 to {MOST_CHOICES}")
    return asked


def _grid(box: spaces.Box, levels: Sequence[int]) -> NDArray[Any]:
    bounds = zip(box.low.tolist(), box.high.tolist(), levels, strict=True)
    values = [
        np.linspace(low, high, count) if count > 1 else np.array([(low + high) / 2]) for low, high, count in bounds
    ]
    grid = np.array(list(product(*values)), dtype=box.dtype)
    grid.flags.writeable = False  # an environment that changed its action would change it for all steps to come
    return grid
