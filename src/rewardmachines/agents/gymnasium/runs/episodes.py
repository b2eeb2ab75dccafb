"""Environments in which episodes of one task are trained: each begins with a known seed, so that it can be replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rewardmachines.agents.gymnasium.driver import StepResult
from rewardmachines.agents.gymnasium.environments import (
    COLUMNS,
    Environments,
    Numbers,
    PackedStepResult,
    end_by_verdict,
)
from rewardmachines.agents.gymnasium.policy import AnyEnv
from rewardmachines.agents.gymnasium.senses import Senses
from rewardmachines.agents.gymnasium.vector_env import Moment
from rewardmachines.agents.networks import Chance
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.gymnasium.checks.making import make_checked
from rewardmachines.envs.gymnasium.hierarchy import HierarchyWrapper
from rewardmachines.lowered.traversal import ACCEPT, NEITHER


@dataclass(frozen=True)
class TrainedTask:
    """The task of a run, whose environment follows the hierarchy."""

    name: str
    hierarchy: Hierarchy
    made_by: Callable[[], AnyEnv]
    """Makes an environment with labels. It may follow the hierarchy already."""
    instances: int | None

    @property
    def make_env(self) -> Callable[[], AnyEnv]:
        """Makes an environment with labels that follows the hierarchy."""
        return self._made

    def _made(self) -> AnyEnv:
        env: AnyEnv = make_checked(self.made_by, task=self.name).env
        try:
            return self._following(env)
        except RewardMachineError:
            env.close()
            raise

    def _following(self, env: AnyEnv) -> AnyEnv:
        """The environment with the hierarchy beside it."""
        if not env.has_wrapper_attr("hierarchy"):
            return HierarchyWrapper(env, self.hierarchy)
        if env.get_wrapper_attr("hierarchy") != self.hierarchy:
            raise RewardMachineError(
                f"the environment of '{self.name}' follows another hierarchy already: leave out its HierarchyWrapper"
            )
        return env


def environments_of(task: TrainedTask, senses: Senses, count: int, longest: int, seed: int) -> Environments:
    """Environments of one task side by side, whose episodes end as the hierarchy says."""
    return Environments([task], senses, count, longest, seed, end_by_verdict)


class EpisodeSensors:
    """Steps environments and reports what each step brought. Where an episode ends, the next begins at once."""

    def __init__(
        self, environments: Environments, count: int, instances: int | None, chance: Chance, *, pays: bool = False
    ) -> None:
        """Begins nothing yet.

        Args:
            environments: What is stepped.
            count: How many environments there are.
            instances: How many instances there are to draw from; None for any beginning.
            chance: Draws instances.
            pays: Whether what the environments pay themselves is reported, too.
        """
        self._pays = pays
        self.environments, self._count, self.chance = environments, count, chance
        self.weights = np.ones(instances or 1)
        """How often each instance is drawn, relative to the others."""

    def begin(self, which: Numbers) -> Moment:
        """Begins episodes in the environments that the mask selects. Returns the present moments of all of them."""
        indices, instance = np.flatnonzero(which), np.zeros(self._count, np.int32)
        if len(self.weights) > 1 and len(indices):
            drawn = self.chance.choice(len(self.weights), size=len(indices), p=self.weights / self.weights.sum())
            instance[indices] = drawn
        return moment_of(self.environments.begin(indices.tolist(), np.zeros(self._count, np.int32), instance))

    def step(self, actions: Numbers) -> tuple[StepResult, Numbers]:
        """Takes a step of every environment. Returns what it brought, and 1 where a goal was reached."""
        result = self.environments.step(range(self._count), actions)
        last, paid = moment_of(result), self.environments.paid.copy()
        following = last
        if result.is_over.any():
            following = self.begin(result.is_over)
        brought = StepResult(
            action=actions,
            after=last.memory,
            label=last.label,
            is_terminated=result.end != NEITHER,
            is_over=result.is_over,
            is_valid=np.ones(self._count, bool),
            next_now=following.memory,
            next_label=following.label,
            is_fresh=result.is_over,
            reward=paid if self._pays else None,
        )
        return brought, (result.end == ACCEPT).astype(np.float64)


def moment_of(result: PackedStepResult) -> Moment:
    """The moments that environments show."""
    return Moment(result.memory, np.ascontiguousarray(result.numbers[:, COLUMNS:]).view(np.uint32))
