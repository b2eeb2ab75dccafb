"""Policies of a run: they act on the learned hierarchy of a task, with the options that were learned for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.agents.hierarchical_dqn.config import for_evaluation
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.loop import Trainer
from rewardmachines.agents.options.tables import Slots
from rewardmachines.agents.policy import Policy
from rewardmachines.agents.setup import OptionPlan, Problem
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.scenario import Scenario
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.crew import Knowledge
from rewardmachines.lhrm.option_registry import WrittenOptions
from rewardmachines.lhrm.policy_file import read_policies
from rewardmachines.lhrm.snapshot import Snapshot, restore
from rewardmachines.lhrm.worlds.compiled import CompiledWorlds
from rewardmachines.runs.checkpoint import read_snapshot


@dataclass(frozen=True)
class TaskEvaluation:
    """Returns and lengths of a greedy episode of a task in each instance."""

    task: str
    returns: tuple[float, ...]
    """The return of the episode in each instance."""
    lengths: tuple[int, ...]
    """The number of its steps."""


class RunPolicies:
    """All policies of a run, which share the networks of one file."""

    def __init__(self, path: Path, run: Lhrm, worlds: CompiledWorlds) -> None:
        """Reads the networks.

        Args:
            path: The file of the run's policies.
            run: A run with the same settings that has just begun. It is put where it was when the file was written.
            worlds: The worlds of the run.

        Raises:
            RewardMachineError: The file is damaged, or belongs to another run.
        """
        restore(run, read_snapshot(path, Snapshot), str(path))
        self._run, self._worlds = run, worlds
        self._written = run.registry.write(run.pool, (), Exploration.ACTIONS)
        self._depth = run.registry.room.depth + 1
        self._driver = worlds.driver(run.config, self._depth)
        self._agent: AgentState = read_policies(path, self._shapes())

    @property
    def run(self) -> Lhrm:
        """The run, where it was when the policies were written."""
        return self._run

    @property
    def written(self) -> WrittenOptions:
        """Its machines and options as arrays."""
        return self._written

    @property
    def agent(self) -> AgentState:
        """The state of its agent: networks, without anything to learn from."""
        return self._agent

    @property
    def scenario(self) -> Scenario:
        """Where the policies act."""
        return self._worlds.scenario

    def evaluate(self) -> list[TaskEvaluation]:
        """Evaluates every task that has a machine, in episodes of full length, whatever the limit while learning."""
        run, worlds = self._run, self._worlds
        episodes = len(worlds.tasks) * worlds.instances
        config = replace(run.config, agent=for_evaluation(run.config.agent, episodes))
        driver = worlds.driver(config, self._depth)
        names = [task.name for task in worlds.tasks]
        is_learned = np.array([name in run.pool.learned for name in names])
        chances = jnp.ones((len(names), worlds.instances))  # not used: an evaluation visits every instance
        arrays = self._written.arrays._asdict()
        known = Knowledge(world=worlds.scenario.world, chances=chances, is_learned=jnp.asarray(is_learned), **arrays)
        returns, lengths = driver.greedy_episodes(known, self._agent, is_learned, run.tally.chunks)
        return [
            TaskEvaluation(name, tuple(map(float, returns[i])), tuple(map(int, lengths[i])))
            for i, name in enumerate(names)
            if is_learned[i]
        ]

    def policy(self, task: str) -> Policy:
        """The policy of a task.

        Raises:
            RewardMachineError: The task has no machine yet.
        """
        if task not in self._run.pool.learned:
            raise RewardMachineError(f"nothing can be done about '{task}' yet: there is no machine")
        return Policy(self._problem(task), self._agent)

    @property
    def _task(self) -> OptionTask:
        return OptionTask(self._worlds.scenario.world, self._written.arrays.tables, self._written.arrays.options)

    def _shapes(self) -> Any:
        """The shapes of an agent without replay memories, since it will never learn."""
        whole = jax.eval_shape(lambda: self._driver.agent.create(self._task, np.int32(0), np.random.default_rng(0)))
        assert isinstance(whole, AgentState)
        return whole._replace(replay=None, call_replay=None)  # type: ignore[arg-type]

    def _problem(self, task: str) -> Problem:
        registry, scenario = self._run.registry, self._worlds.scenario
        lowered, menu = self._written.lowered, self._written.menu
        root = lowered.machines.index(task)
        plan = OptionPlan(
            Hierarchy(task, menu.pool.machines, menu.pool.propositions),
            replace(lowered, roots=(root,)),
            menu,
            Slots(registry.tree, registry.slots),
        )
        return Problem(plan, Trainer(self._driver.agent, scenario.environment, scenario.max_steps), self._task)
