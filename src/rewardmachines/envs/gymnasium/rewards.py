"""The reward of a step: the hierarchy's, the environment's, and shaping."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from rewardmachines.core.distances import Distances
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.labelsets import Labels
from rewardmachines.core.traversal import HierarchyState, Verdict, verdict_of
from rewardmachines.envs.gymnasium.checks import EnvironmentFault, short, summary_of

RewardFunction: TypeAlias = Callable[[float, float], float]
"""A function of the hierarchy's reward and the environment's own."""


class RewardSource(Enum):
    """The source of the reward of a step.

    HIERARCHY: 1 when the hierarchy accepts. ENVIRONMENT: what the environment pays.
    """

    HIERARCHY = "hierarchy"
    ENVIRONMENT = "environment"


AnyReward: TypeAlias = RewardSource | str | RewardFunction


@dataclass(frozen=True)
class Shaping:
    """Reward for progress in a hierarchy that changes no optimal policy: discount * Φ(after) - Φ(before).

    The potential Φ is the part of the way to acceptance that is done, 0 in the beginning and less than 1. Where an
    episode has terminated it is 0, too. So over an episode the discounted sum of all shaping is -Φ(first state),
    whatever was done, which is 0 unless the label of the reset moves the hierarchy already.
    """

    discount: float
    """The discount of the agent that learns. With another one, other policies may become optimal."""
    weight: float = 1.0
    """The potential of the whole way: 1 is as much as acceptance."""
    labels: Labels = None
    """The labels that can occur; all, if not given. It makes distances exact where shortcuts never occur."""

    def __post_init__(self) -> None:
        if not 0 < self.discount <= 1:
            raise RewardMachineError(f"shaping needs the discount of the agent, between 0 and 1, not {self.discount}")
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise RewardMachineError(f"the weight of shaping is a number of at least 0, not {self.weight}")


class Potential:
    """Φ: how much of the way to acceptance is done, as a function of hierarchy states.

    >>> from rewardmachines import compile_task, traverse
    >>> task = compile_task("a ; b ; c ; d")
    >>> potential = Potential(task)
    >>> [potential.of(state) for state in traverse(task, [{"a"}, {"b"}, {"c"}, {"d"}])]
    [0.0, 0.25, 0.5, 0.75, 0.0]
    """

    def __init__(self, hierarchy: Hierarchy, *, weight: float = 1.0, labels: Labels = None) -> None:
        """Measures the hierarchy.

        Args:
            hierarchy: The hierarchy of the task.
            weight: The potential of the whole way.
            labels: The labels that can occur; all, if not given.
        """
        self._hierarchy = hierarchy
        self._weight = weight
        self._distances = Distances(hierarchy, labels)
        self._whole = self._distances.start or 1
        self._known: dict[HierarchyState, float] = {}

    def of(self, state: HierarchyState) -> float:
        """The potential of a hierarchy state: 0 where the hierarchy has decided, and at the beginning of the way.

        States that are farther away than the initial state have a negative potential. It is least, minus the weight,
        where the distance is twice that of the initial state or more, and where acceptance cannot be reached.
        """
        if state not in self._known:
            self._known[state] = self._measured(state)
        return self._known[state]

    def _measured(self, state: HierarchyState) -> float:
        if verdict_of(self._hierarchy, state) is not Verdict.NEITHER:
            return 0.0
        distance = self._distances.of(state)
        done = -1.0 if distance is None else max(-1.0, 1 - distance / self._whole)
        return self._weight * done


def reward_function(reward: AnyReward) -> RewardFunction:
    """The function of both rewards.

    Args:
        reward: The source of the reward, or a function of the hierarchy's reward and the environment's.

    Raises:
        RewardMachineError: There is no such source of rewards.
    """
    if callable(reward):
        return _Checked(reward)
    if isinstance(reward, str):
        known = [source.value for source in RewardSource]
        if reward not in known:
            hint = suggestion(reward, known)
            raise RewardMachineError(
                f"reward is 'hierarchy', 'environment', or a function of both, not {short(reward)}{hint}"
            )
        reward = RewardSource(reward)
    return _SOURCES[reward]


def _of_hierarchy(hierarchy: float, environment: float) -> float:  # noqa: ARG001
    return hierarchy


def _of_environment(hierarchy: float, environment: float) -> float:  # noqa: ARG001
    return environment


_SOURCES: Final = {RewardSource.HIERARCHY: _of_hierarchy, RewardSource.ENVIRONMENT: _of_environment}


@dataclass(frozen=True)
class _Checked:
    """A reward function of the user's, whose results are checked."""

    function: RewardFunction

    def __call__(self, hierarchy: float, environment: float) -> float:
        given = f"(hierarchy: {hierarchy}, environment: {environment})"
        try:
            returned = self.function(hierarchy, environment)
        except Exception as problem:
            raise EnvironmentFault(f"the reward function failed with {summary_of(problem)} {given}") from problem
        try:
            reward = float(returned)
        except (TypeError, ValueError):
            reward = math.nan
        if not math.isfinite(reward):
            raise EnvironmentFault(f"the reward function returned {short(returned)}, no finite number {given}")
        return reward
