"""A run of LHRM on disk: its settings, its metrics, what it has learned, and its policies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.policy import Policy
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.policies import RunPolicies, TaskEvaluation
from rewardmachines.lhrm.snapshot import Snapshot
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec
from rewardmachines.lhrm.stored_run import StoredRun
from rewardmachines.lhrm.worlds.compiled import CompiledWorlds
from rewardmachines.runs.checkpoint import read_snapshot

if TYPE_CHECKING:
    from rewardmachines.envs.gymnasium.single import ScenarioEnv


@dataclass(frozen=True)
class LearnRun(StoredRun):
    """A run of `learn` on disk, finished or not. Its last checkpoint and its policies are read only once."""

    order: LearnOrder
    """The settings of the run: what is learned, and when it ends."""

    @property
    def spec(self) -> LearnSpec:
        """What is learned."""
        return self.order.spec

    @cached_property
    def worlds(self) -> CompiledWorlds:
        """The tasks with their true hierarchies, and the scenario in which they are learned."""
        return self.spec.worlds()

    @cached_property
    def bank(self) -> Bank | None:
        """The bank of skills that it began with, if it began with one."""
        return self.files.read_bank(self.spec)

    @property
    def good_enough(self) -> float:
        """The mean return that is good enough for every task; 0 if none is."""
        return self.order.stop_at

    def last_snapshot(self) -> Snapshot | None:
        """The snapshot of the last checkpoint, if there is one."""
        path = self.files.checkpoint
        return read_snapshot(path, Snapshot) if path.exists() else None

    @property
    def in_domain(self) -> LearnRun:
        """The run itself: its domain knows the true hierarchies of its tasks, and can show episodes."""
        return self

    # -- policies and environments

    @cached_property
    def _policies(self) -> RunPolicies:
        return self._policies_in(self.spec)

    def _policies_in(self, spec: LearnSpec) -> RunPolicies:
        """The policies that were written last, in the instances of a specification."""
        if not self.files.policies.exists():
            raise RewardMachineError(f"{self.folder}: there are no policies yet")
        run = Lhrm(self.worlds, self.spec.config, Solvers(), seed=self.spec.seed, bank=self.bank)
        return RunPolicies(self.files.policies, run, spec.worlds())

    def policies(self) -> RunPolicies:
        """The policies of all tasks that were written last.

        Raises:
            RewardMachineError: There are no policies yet.
        """
        return self._policies

    def evaluate(self, instances: int | None = None, instance_seed: int | None = None) -> list[TaskEvaluation]:
        """Lets the policies that were written last act greedily, for one episode of each task in each instance.

        Args:
            instances: How many instances there are; as many as the run was evaluated in, if not given.
            instance_seed: The seed of the first; that of the run, if not given.

        Raises:
            RewardMachineError: There are no policies yet.
        """
        if instances is None and instance_seed is None:
            return self._policies.evaluate()
        return self._policies_in(self.spec.elsewhere(instances, instance_seed)).evaluate()

    def policy(self, task: str) -> Policy:
        """The policy of a task, which acts on observations and labels and follows the learned hierarchy.

        Raises:
            RewardMachineError: There is no such task in the run, or no machine for it, or there are no policies yet.
        """
        self.check_task(task)
        return self._policies.policy(task)

    def environment(
        self,
        task: str,
        instance: int | None = None,
        render_mode: str | None = None,
        *,
        instances: int | None = None,
        instance_seed: int | None = None,
    ) -> ScenarioEnv:
        """Makes the environment in which a task was learned, as a Gymnasium environment with the task's true hierarchy.

        Args:
            task: The name of a task of the run.
            instance: The instance of all episodes; without one, each episode takes place in a random one.
            render_mode: How episodes are shown, if they are.
            instances: How many instances there are; as many as the run was evaluated in, if not given.
            instance_seed: The seed of the first; that of the run, if not given.

        Raises:
            RewardMachineError: The run has no such task.
        """
        # Imported here, because learning must also run where Gymnasium is not installed.
        from rewardmachines.envs.gymnasium.single import ScenarioEnv

        self.check_task(task)
        tree, observation = self.worlds.tree(task), self.spec.config.agent.observation
        spec = self.spec.elsewhere(instances, instance_seed)
        return ScenarioEnv.of_spec(spec, tree, observation=observation, instance=instance, render_mode=render_mode)


def load_learning(folder: str | Path) -> LearnRun:
    """Opens the folder of a run of `learn`, finished or not.

    Args:
        folder: The folder of the run.

    Raises:
        RewardMachineError: There is no such run.
    """
    return LearnRun(Path(folder), LearnFolder(Path(folder)).read_order())
