"""An environment that breaks one rule of Gymnasium, on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rewardmachines.envs import LabelingWrapper

PROPOSITIONS = ("left", "right")
BOX = spaces.Box(-10, 10, (2,), np.float32)
LENGTH = 6


def seen(x: float) -> Any:
    return np.array([x, 0], np.float32)


def label_of(observation: Any) -> set[str]:
    """Nothing at the beginning, `right` at the third cell."""
    return {"right"} if np.asarray(observation).flat[0] == 3 else set()


class Rover(gymnasium.Env[Any, Any]):
    """Drives to the right, cell by cell, and ends with reward 1 at the last one.

    At its second step, it returns what `step` makes of the five values, and shows what `show` makes of the observation;
    `reset` makes something of the two values of a reset. With `label`, it labels itself.
    """

    def __init__(
        self,
        *,
        space: spaces.Space[Any] = BOX,
        show: Callable[[Any], Any] | None = None,
        step: Callable[..., Any] | None = None,
        reset: Callable[..., Any] | None = None,
        label: Callable[[Any], Any] | None = None,
    ) -> None:
        self.observation_space, self.action_space = space, spaces.Discrete(2)
        self._show, self._step, self._reset, self._label = show, step, reset, label
        if label is not None:
            self.propositions = PROPOSITIONS
        self.cell = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.cell = 0
        returned = (self._plain(), self._info(self._plain(), incomplete=True))
        return self._reset(*returned) if self._reset else returned

    def step(self, action: Any) -> Any:
        self.cell += 1
        observation = self._plain()
        if self.cell == 2 and self._show is not None:
            observation = self._show(observation)
        is_over = self.cell == LENGTH
        returned = (observation, float(is_over), is_over, False, self._info(observation, incomplete=not is_over))
        return self._step(*returned) if self.cell == 2 and self._step else returned

    def _plain(self) -> Any:
        if isinstance(self.observation_space, spaces.Discrete):
            return self.cell
        if isinstance(self.observation_space, spaces.Dict):
            return {"at": seen(self.cell)}
        if isinstance(self.observation_space, spaces.Tuple):
            return (seen(self.cell), 0)
        return np.zeros(self.observation_space.shape or (), self.observation_space.dtype) + self._shift()

    def _shift(self) -> Any:
        shift = np.zeros(self.observation_space.shape or (), self.observation_space.dtype)
        shift.flat[0] = self.cell
        return shift

    def _info(self, observation: Any, *, incomplete: bool) -> dict[str, Any]:
        if self._label is None:
            return {}
        return {"label": self._label(observation), "outcome": "incomplete" if incomplete else "goal"}


def labelled(env: gymnasium.Env[Any, Any], labels: Callable[..., Any] = label_of) -> LabelingWrapper:
    return LabelingWrapper(env, labels=labels, propositions=PROPOSITIONS)


def drive(env: Any) -> list[Any]:
    """The infos of an episode."""
    infos, is_over = [env.reset(seed=0)[1]], False
    while not is_over:
        *_, terminated, truncated, info = env.step(0)
        is_over = terminated or truncated
        infos.append(info)
    return infos
