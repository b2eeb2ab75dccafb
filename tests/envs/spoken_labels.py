"""An environment in which an action says the next label, so that any trace can be walked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from strategies import ALL_LABELS, PROPOSITIONS

END = len(ALL_LABELS)
"""The action with which the environment ends by itself; the label stays."""


class SpokenLabels(gymnasium.Env[np.int64, np.int64]):
    """The observation is the number of the label, and an action pays a tenth of its own number."""

    def __init__(self, first: Label = frozenset(), most_steps: int | None = None) -> None:
        self.observation_space = gymnasium.spaces.Discrete(len(ALL_LABELS))
        self.action_space = gymnasium.spaces.Discrete(len(ALL_LABELS) + 1)
        self.first, self.most_steps = ALL_LABELS.index(first), most_steps
        self.now, self.steps = self.first, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        super().reset(seed=seed)
        self.now, self.steps = self.first, 0
        return np.int64(self.now), {}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.now = self.now if action == END else int(action)
        return np.int64(self.now), float(action) / 10, bool(action == END), self.steps == self.most_steps, {}


def wrapped(
    hierarchy: Hierarchy, *, first: Label = frozenset(), most_steps: int | None = None, **options: Any
) -> HierarchyWrapper:
    """The hierarchy beside spoken labels."""
    spoken = SpokenLabels(first, most_steps)
    labelled = LabelingWrapper(spoken, labels=lambda number: ALL_LABELS[number], propositions=PROPOSITIONS)
    return HierarchyWrapper(labelled, hierarchy, **options)


Walk = list[tuple[Any, float, bool, bool, dict[str, Any]]]


def walk(env: HierarchyWrapper, actions: Sequence[int]) -> Walk:
    """The steps of an episode, until it is over or there are no more actions."""
    env.reset(seed=0)
    steps: Walk = []
    for action in actions:
        steps.append(env.step(np.int64(action)))
        if steps[-1][2] or steps[-1][3]:
            break
    return steps
