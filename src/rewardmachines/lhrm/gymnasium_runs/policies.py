"""Policies of a run on disk, which act in environments that the run knows nothing of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

from rewardmachines.agents.gymnasium.driver import programs
from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.gymnasium.policy import GymnasiumPolicy
from rewardmachines.agents.gymnasium.vector_env import LabelCodes
from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.gymnasium_runs.recorded_worlds import RecordedWorlds
from rewardmachines.lhrm.gymnasium_runs.spec import GymnasiumSpec
from rewardmachines.lhrm.policy_file import read_policies
from rewardmachines.lhrm.snapshot import Snapshot, restore
from rewardmachines.lowered import LabelBits
from rewardmachines.runs.checkpoint import read_snapshot


class StoredPolicies:
    """All policies of a run, which share the networks of one file."""

    def __init__(self, path: Path, spec: GymnasiumSpec, encode: Encode | None = None) -> None:
        """Reads the networks.

        Args:
            path: The file of policies.
            spec: The specification of the run.
            encode: The function that encodes observations, if the run had one.

        Raises:
            RewardMachineError: The file is damaged, or belongs to another run; or encode is missing.
        """
        self._senses, self._reading = spec.senses, spec.senses.observations.reading(encode)
        self._worlds = RecordedWorlds(spec)
        self._run = Lhrm(self._worlds, spec.config, Solvers(), seed=spec.seed)
        restore(self._run, read_snapshot(path, Snapshot), str(path))
        registry = self._run.registry
        self._written = registry.write(self._run.pool, (), Exploration.ACTIONS)
        self._agent = self._worlds.agent(spec.config, registry.room.depth + 1)
        self._state = read_policies(path, self._shapes())

    @property
    def learned(self) -> tuple[str, ...]:
        """The tasks that have a machine, lowest level first."""
        return tuple(name for name in self._run.tasks if name in self._run.pool.learned)

    def policy(self, task: str) -> GymnasiumPolicy:
        """A policy of a task. Every environment needs one of its own.

        Raises:
            RewardMachineError: The task has no machine yet.
        """
        if task not in self._run.pool.learned:
            raise RewardMachineError(f"nothing can be done about '{task}' yet: there is no machine")
        return GymnasiumPolicy(
            programs=programs(self._agent, self._agent.recall),
            task=self._task,
            agent_state=self._state,
            root=self._written.lowered.machines.index(task),
            reading=self._reading,
            codes=LabelCodes(LabelBits(self._senses.propositions)),
            first_action=self._senses.first_action,
        )

    @property
    def _task(self) -> OptionTask:
        return OptionTask(self._worlds.world, self._written.arrays.tables, self._written.arrays.options)

    def _shapes(self) -> Any:
        """The shapes of an agent without replay memories, since it will never learn."""
        whole = jax.eval_shape(lambda: self._agent.create(self._task, np.int32(0), np.random.default_rng(0)))
        assert isinstance(whole, AgentState)
        return whole._replace(replay=None, call_replay=None)  # type: ignore[arg-type]
