"""Observations that include the hierarchy state: a one-hot vector over the states of its flat machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.minimization import minimize
from rewardmachines.core.traversal import initial_state, move_on_event


class StateEncoder:
    """Observations with the state of the smallest flat machine behind them.

    Vectors and numbers are joined with it into one vector; anything else becomes a pair, `observation` and `task`.
    """

    def __init__(self, hierarchy: Hierarchy, space: spaces.Space[Any]) -> None:
        self.flat = minimize(flatten(hierarchy))
        self._index = {state: i for i, state in enumerate(self.flat[self.flat.root].states)}
        self._space = space
        self.space = self._joined_space()
        self.reset()

    def reset(self) -> None:
        """Goes back to the initial state of the machine."""
        self._state = initial_state(self.flat)

    def feed(self, before: Label | None, label: Label) -> None:
        """Moves the machine if the label is an event."""
        self._state = move_on_event(self.flat, self._state, before, label)

    def encode(self, observation: Any) -> Any:
        """The observation with the state of the machine."""
        task = np.zeros(len(self._index), np.float32)
        task[self._index[self._state.state]] = 1
        if isinstance(self._space, spaces.Discrete):
            number = np.zeros(int(self._space.n), np.float32)
            number[int(observation) - int(self._space.start)] = 1
            return np.concatenate([number, task])
        if self._is_vector:
            return np.concatenate([np.asarray(observation, np.float32), task])
        return {"observation": observation, "task": task}

    @property
    def _is_vector(self) -> bool:
        return isinstance(self._space, spaces.Box) and len(self._space.shape) == 1

    def _joined_space(self) -> spaces.Space[Any]:
        states = len(self._index)
        if isinstance(self._space, spaces.Discrete):
            return spaces.Box(0, 1, (int(self._space.n) + states,), np.float32)
        if self._is_vector:
            assert isinstance(self._space, spaces.Box)
            low = np.concatenate([self._space.low.astype(np.float32), np.zeros(states, np.float32)])
            high = np.concatenate([self._space.high.astype(np.float32), np.ones(states, np.float32)])
            return spaces.Box(low, high, dtype=np.float32)
        return spaces.Dict({"observation": self._space, "task": spaces.Box(0, 1, (states,), np.float32)})
