"""The worlds of tasks in a domain that is written in JAX: environments and agent are compiled together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.setup import fresh_instances
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.interface import RecallOf
from rewardmachines.envs.scenario import Scenario
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.crew import Knowledge
from rewardmachines.lhrm.interaction import Stepper
from rewardmachines.lhrm.machine_pool import ranked
from rewardmachines.lhrm.worlds.protocol import Counts, RunState
from rewardmachines.lhrm.worlds.rollout import Rollout, Truth
from rewardmachines.runs.compile_ahead import KEPT, Program


class Programs:
    """The functions of a rollout, each compiled once."""

    def __init__(self, rollout: Rollout) -> None:
        self.begin = Program(rollout.begin)
        self.restart = Program(rollout.restart)
        self.chunk = Program(rollout.chunk, donate=[2])
        self.evaluate = Program(rollout.evaluate)


compiled_programs = lru_cache(KEPT)(Programs)
"""The programs of a rollout. Equal rollouts get the same ones, so that nothing is compiled twice."""


class CompiledWorlds:
    """A domain in one of its settings, with some of its tasks."""

    def __init__(self, scenario: Scenario, tasks: Sequence[str] | None = None, *, flat: bool = False) -> None:
        """Lowers the true hierarchies of the tasks.

        Args:
            scenario: The domain in one of its settings, with its instances.
            tasks: The names of the tasks; all of the domain, if not given.
            flat: Whether machines call nothing, so that all tasks are on one level.

        Raises:
            RewardMachineError: There are no tasks.
        """
        self.scenario = scenario
        names = list(tasks) if tasks is not None else list(scenario.domain.tasks)
        if not names:
            raise RewardMachineError("there is no task to learn")
        self._trees = {name: scenario.task(name) for name in names}
        levels = {name: 1 if flat else tree.height for name, tree in self._trees.items()}
        self.tasks = ranked(levels)
        self.propositions = scenario.environment.propositions
        self.instances = len(scenario.instances)
        self.shape = scenario.environment.observation_shape
        self.actions = scenario.environment.actions
        lowered = scenario.lower([self._trees[task.name] for task in self.tasks])
        self._truth = Truth(lowered.tables, jax.device_put(np.asarray(lowered.roots, np.int32)))

    @property
    def world(self) -> Any:
        return self.scenario.training_world

    @property
    def curriculum_instances(self) -> int:
        return 1 if self.scenario.fresh else self.instances

    def tree(self, name: str) -> Hierarchy:
        """The true hierarchy of a task."""
        return self._trees[name]

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(sorted(tree[tree.root].callees)) for name, tree in self._trees.items()}

    def driver(self, config: LhrmConfig, depth: int) -> CompiledDriver:
        environment, limit = self.scenario.environment, self.scenario.max_steps
        agent = HierarchicalAgent(config.agent, self.shape, self.actions, depth, RecallOf(environment))
        stepper = Stepper(agent, limit, config.patience, config.digressions)
        rollout = Rollout(stepper, environment, limit, fresh_instances(self.scenario))
        return CompiledDriver(rollout, self._truth, len(self.tasks), self.instances)


@dataclass(frozen=True)
class CompiledDriver:
    """Calls the compiled programs of a rollout: a chunk or an evaluation is a single call."""

    rollout: Rollout
    truth: Truth
    tasks: int
    instances: int

    @property
    def agent(self) -> HierarchicalAgent:
        return self.rollout.stepper.agent

    @property
    def _programs(self) -> Programs:
        return compiled_programs(self.rollout)

    def create(self, knowledge: Knowledge, chance: Chance, key: PRNGKeyArray) -> RunState:
        crew_key, key = jax.random.split(key)
        crew, environments = self._programs.begin(knowledge, self.truth, crew_key)
        memory = jax.tree.map(lambda x: np.zeros(x.shape[1:], x.dtype), crew.now)  # only shapes and types matter
        agent = self.agent.create(knowledge.task, memory, chance)
        fresh = RunState(agent, crew, environments, jnp.int32(0), key)
        # A chunk gives the arrays of the state away, and an array that occurs twice cannot be given away twice.
        owned: RunState = jax.device_put(fresh, may_alias=False)
        return owned

    def shapes(self, knowledge: Knowledge) -> Any:
        return jax.eval_shape(lambda: self.create(knowledge, np.random.default_rng(0), jax.random.key(0)))

    def chunk(self, knowledge: Knowledge, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        if not self._programs.evaluate.is_expected:  # it is compiled beside the first chunk, not after it
            nobody = np.zeros(self.tasks, bool)
            self._programs.evaluate.expect(*self.evaluation(knowledge, state.agent, nobody, 0))
        done: tuple[RunState, Counts] = self._programs.chunk(knowledge, self.truth, state, learns, most)
        return done

    def restart(self, knowledge: Knowledge, state: RunState, which: Any) -> RunState:
        key, restart_key = jax.random.split(state.key)
        now, mask = (state.crew, state.environments), jnp.asarray(which)
        crew, environments = self._programs.restart(knowledge, self.truth, now, mask, restart_key)
        return state._replace(crew=crew, environments=environments, key=key)

    def evaluate(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> Any:
        return self.greedy_episodes(knowledge, agent, wanted, seed)[0]

    def greedy_episodes(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> tuple[Any, Any]:
        """Returns as those of `evaluate`, and the lengths of the episodes, [T, I] too."""
        returns, lengths = self._programs.evaluate(*self.evaluation(knowledge, agent, wanted, seed))
        shape = self.tasks, self.instances
        return np.asarray(returns, np.float64).reshape(shape), np.asarray(lengths).reshape(shape)

    def evaluation(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> tuple[Any, ...]:
        """The arguments of the compiled evaluation: a row for each pair, with the instances of a task in sequence."""
        task = np.repeat(np.arange(self.tasks, dtype=np.int32), self.instances)
        instance = np.tile(np.arange(self.instances, dtype=np.int32), self.tasks)
        each = np.repeat(np.asarray(wanted), self.instances)
        return knowledge, self.truth, agent, task, instance, each, jax.random.key(seed)
