"""The worlds of a run on disk, without its environments: enough to read what was learned, and to act by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp

from rewardmachines.agents.hierarchical_dqn.agent import HierarchicalAgent
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.gymnasium_runs.spec import GymnasiumSpec
from rewardmachines.lhrm.machine_pool import TaskSpec, ranked
from rewardmachines.lhrm.worlds.protocol import Driver


@dataclass(frozen=True)
class RecordedWorlds:
    """What a specification says of the tasks and their environments."""

    spec: GymnasiumSpec

    @cached_property
    def tasks(self) -> tuple[TaskSpec, ...]:
        """The tasks, lowest level first."""
        return ranked({task.name: task.level for task in self.spec.tasks})

    @property
    def propositions(self) -> tuple[str, ...]:
        """What labels are made of."""
        return self.spec.senses.propositions

    @property
    def instances(self) -> int:
        """How many instances every task has."""
        return self.spec.instances

    @property
    def curriculum_instances(self) -> int:
        """How many instances the curriculum tells apart: all of them."""
        return self.spec.instances

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        """Nothing: what the tasks are made of is not known."""
        return {}

    @property
    def world(self) -> Any:
        """Nothing: observations are remembered as they are."""
        return jnp.int32(0)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an observation."""
        return self.spec.senses.observations.shape

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return self.spec.senses.actions

    def driver(self, config: LhrmConfig, depth: int) -> Driver:  # noqa: ARG002
        """There is none: nothing can be done without environments.

        Raises:
            RewardMachineError: Always.
        """
        raise RewardMachineError("a run that is only looked at has no environments to act in")

    def agent(self, config: LhrmConfig, depth: int) -> HierarchicalAgent:
        """The functions of the agent. Arguments as for `TaskWorlds.driver`."""
        recall = self.spec.senses.observations.recall
        return HierarchicalAgent(config.agent, self.shape, self.actions, depth, recall)
