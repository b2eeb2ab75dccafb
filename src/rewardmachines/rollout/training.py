"""Training with a given hierarchy: LHRM's interaction, with nothing to collect and a single level."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Final

import jax
import numpy as np

from rewardmachines.agents.bank.agent import with_skills
from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.registry import AgentKind
from rewardmachines.agents.setup import OptionPlan, Plan, build_task, is_zero_shot, replay_start
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.rollout.algorithm import Algorithm, Evaluation
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.policy import FollowedHierarchy
from rewardmachines.rollout.rows import Counters, Row, by_task_and_instance
from rewardmachines.rollout.suite import Driver, TaskSuite
from rewardmachines.rollout.tables import Counts, RunState, TaskTables

LEAST_WEIGHT: Final = 0.01
"""The least weight of an instance in the curriculum, so that mastered instances are still visited."""
Numbers = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class TrainingFindings:
    """The findings of a chunk of training."""

    counts: Counts
    evaluated: Any
    """A mask [T]: the only task is evaluated."""


@dataclass(frozen=True)
class TrainingState:
    """The host state of training, which is not on the device."""

    counters: Counters
    running: tuple[tuple[float, ...], ...]
    """The running returns, by task and instance."""
    recent: tuple[tuple[tuple[float, ...], ...], ...]
    """The returns of the last evaluations, by task and instance."""


class Training(Algorithm):
    """A run in memory that trains policies, chunk by chunk."""

    state_type = TrainingState

    def __init__(
        self,
        suite: TaskSuite,
        kind: AgentKind,
        plan: Plan,
        config: AgentConfig,
        *,
        seed: int = 0,
        episodes: int | None = None,
    ) -> None:
        """Begins with an untrained agent, or with the skills of a bank.

        Args:
            suite: The task and its environments.
            kind: The agent.
            plan: The hierarchy in the form that the agent uses.
            config: The settings of the agent.
            seed: The seed of all random choices.
            episodes: The number of episodes at which the run ends, if it has such a limit.
        """
        super().__init__(suite, episodes)
        self.agent_kind, self.plan, self.seed = kind, plan, seed
        self.config = config
        self.running: Numbers = np.zeros((1, suite.curriculum_instances))
        """The running return in each instance, from which the curriculum computes its weights."""
        agent = kind.build(config, plan.lowered.capacity, suite.shape, suite.actions, suite.recall)
        self._driver: Driver = suite.driver(Interaction(agent, suite.max_steps))
        self._task = build_task(plan, suite.world)
        self._replay_start = replay_start(config, self._task)

    # -- a chunk

    @property
    def agent_config(self) -> AgentConfig:
        return self.config

    @property
    def driver(self) -> Driver:
        return self._driver

    @property
    def tables(self) -> TaskTables:
        """The task as arrays. Mastered instances are sampled rarely."""
        weight = np.maximum(1 - self.running, LEAST_WEIGHT).astype(np.float32)
        if self.suite.curriculum_instances < self.suite.instances:  # fresh instances are all alike
            weight = np.ones((1, 1), np.float32)
        root = np.asarray(self.plan.lowered.roots[:1], np.int32)
        return TaskTables(self._task, *jax.device_put((root, weight)))

    @property
    def learns(self) -> bool:
        """Whether the replay memory holds enough experiences to learn from."""
        return self.counters.steps >= self._replay_start

    def take(self, state: RunState, counts: Counts) -> TrainingFindings:
        """Processes the results of a chunk."""
        self._state = state
        self.counters.add(counts)
        return TrainingFindings(counts, np.ones(1, bool))

    def conclude(self, findings: TrainingFindings, evaluation: Evaluation | None) -> Row:
        """Records the returns of greedy episodes, and returns the row of the chunk."""
        if evaluation is not None:
            weight = self.config.curriculum_weight
            self.running = weight * self.running + (1 - weight) * self._noted(evaluation[0])
        return self._row(findings.counts, evaluation, self.running)

    # -- the end

    @property
    def is_exhausted(self) -> bool:
        """Whether there is nothing to learn, because everything that the task needs is in the bank."""
        return is_zero_shot(self.plan, self._task)

    def followed(self, task: str) -> FollowedHierarchy:  # noqa: ARG002  # there is only one
        plan = self.plan
        return FollowedHierarchy(
            plan.hierarchy, plan.lowered, plan.option_set if isinstance(plan, OptionPlan) else None
        )

    # -- runs side by side

    @property
    def kind(self) -> Hashable:
        """Settings that runs side by side must have in common."""
        return self.config, self.plan.hierarchy, self.suite.max_steps, self.suite.instances

    # -- the state

    def host_state(self) -> TrainingState:
        """The state of the run that is not on the device, between two chunks."""
        recent = tuple(by_task_and_instance(returns) or () for returns in self.recent)
        return TrainingState(replace(self.counters), by_task_and_instance(self.running) or (), recent)

    def restore(self, state: TrainingState, where: str) -> None:
        """Restores the host state of the run, which has just begun.

        Raises:
            RewardMachineError: The state is damaged, or belongs to another run.
        """
        shapes = {np.shape(returns) for returns in state.recent}
        if np.shape(state.running) != self.running.shape or not shapes <= {(1, self.suite.instances)}:
            raise RewardMachineError(f"{where}: damaged, it speaks of other instances than the run")
        self.counters, self.running = replace(state.counters), np.array(state.running)
        self.recent = [np.array(returns) for returns in state.recent]

    @property
    def state_shapes(self) -> Any:
        """The shapes and types of the state. Networks of a bank may be of another structure than those of the agent."""
        if not isinstance(self.plan, OptionPlan) or self.plan.skills is None:
            return super().state_shapes
        return jax.eval_shape(lambda state: state, self._first_state())

    def _first_state(self) -> RunState:
        state = self.driver.create(self.tables, np.random.default_rng(self.seed), jax.random.key(self.seed))
        plan, config = self.plan, self.config
        if not isinstance(plan, OptionPlan) or plan.skills is None:
            return state
        assert isinstance(config, HierarchicalDqnConfig), "only options come from a bank"
        chance = np.random.default_rng((self.seed, 1))  # that of the seed has drawn the networks that the bank replaces
        agent = with_skills(state.agent, plan.skills, config, plan.lowered, chance)
        return state._replace(agent=agent)
