"""A training run on disk: its settings, its metrics, and its policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig, for_evaluation
from rewardmachines.agents.loop import TrainingState
from rewardmachines.agents.policy import Policy
from rewardmachines.agents.setup import is_zero_shot
from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.policy_file import read_policy
from rewardmachines.agents.training.rows import Row, read_rows
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.spec import TrainOrder, TrainSpec
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.runs.metrics_log import Moment, read_records

if TYPE_CHECKING:
    from rewardmachines.envs.gymnasium.single import ScenarioEnv


@dataclass(frozen=True)
class Evaluation:
    """The greedy episodes of one seed's policy, one in each instance."""

    seed: int
    returns: tuple[float, ...]
    """The return of the episode in each instance."""
    lengths: tuple[int, ...]
    """The number of its steps."""


@dataclass(frozen=True)
class TrainRun:
    """A run of `train` on disk, finished or not."""

    folder: Path
    order: TrainOrder
    """The settings of the run: what is trained, and when it ends."""
    hierarchy: Hierarchy
    """The hierarchy of the task."""
    bank: Bank | None = None
    """The bank of skills that it began with, if it began with one."""

    @property
    def spec(self) -> TrainSpec:
        """What is trained."""
        return self.order.spec

    @property
    def seeds(self) -> range:
        """The seeds of its agents."""
        return self.spec.seed_range

    @cached_property
    def _single(self) -> Session:
        """A session of the first seed alone, which gives policies their shapes."""
        return Session(self.spec.of_seed(self.spec.seed).elsewhere(), self.hierarchy, bank=self.bank)

    @property
    def is_zero_shot(self) -> bool:
        """Whether there was nothing to learn, because everything that the task needs was in the bank."""
        return is_zero_shot(self._single.problem)

    def rows(self) -> list[Row]:
        """Reads the metrics of the run so far, a row for each chunk and seed."""
        return read_rows(TrainFolder(self.folder).metrics, self.seeds, self.spec.instances)

    def moments(self) -> list[Moment]:
        """Reads the moments at which chunks were done."""
        return list(read_records(Moment, TrainFolder(self.folder).timing))

    def evaluate(self, instances: int | None = None, instance_seed: int | None = None) -> list[Evaluation]:
        """Lets the policy of every seed act greedily for one episode in each instance.

        Episodes have their full length, whatever the limit of evaluations while training.

        Args:
            instances: How many instances there are; as many as the run was evaluated in, if not given.
            instance_seed: The seed of the first; that of the run, if not given.

        Raises:
            RewardMachineError: A seed has no policy yet.
        """
        learned = [self._learned(seed) for seed in self.seeds]
        agents = [agent for agent, _ in learned]
        stacked = agents[0] if len(agents) == 1 else jax.tree.map(lambda *leaves: np.stack(leaves), *agents)
        spec = self.spec.elsewhere(instances, instance_seed)
        whole = replace(spec, config=_for_evaluation(spec.config, spec.instances))
        session = Session(whole, self.hierarchy, bank=self.bank)
        unused = cast("Any", None)
        session.state = TrainingState(jax.device_put(stacked), unused, unused)
        session.tally.chunks = learned[0][1]  # the random key of an evaluation is made of this number
        returns, lengths = session.evaluate()
        return [
            Evaluation(seed, tuple(map(float, returns[s])), tuple(map(int, lengths[s])))
            for s, seed in enumerate(self.seeds)
        ]

    def policy(self, task: str, seed: int | None = None) -> Policy:
        """The policy that one seed has learned, which acts on observations and labels.

        Args:
            task: The name of the task of the run.
            seed: The seed; without one, the first of the run.

        Raises:
            RewardMachineError: The run has another task, or no policy of that seed.
        """
        if task != self.spec.task:
            known = self.spec.task
            raise RewardMachineError(f"{self.folder}: there is no policy for '{task}'; it has learned '{known}'")
        agent, _ = self._learned(self._seed(seed))
        return Policy(self._single.problem, agent)

    def _seed(self, seed: int | None) -> int:
        """The seed that is asked for, or the first of the run.

        Raises:
            RewardMachineError: The run has no such seed.
        """
        if seed is not None and seed not in self.seeds:
            raise RewardMachineError(
                f"{self.folder}: there is no seed {seed}; there are {', '.join(map(str, self.seeds))}"
            )
        return self.spec.seed if seed is None else seed

    def _learned(self, seed: int) -> tuple[Any, int]:
        """The state of a seed's agent, and the number of chunks for which it has learned."""
        path = TrainFolder(self.folder).policy(self.spec.task, seed)
        if not path.exists():
            raise RewardMachineError(f"{self.folder}: there is no policy of seed {seed} yet")
        return read_policy(path, self._single.state.agent)

    def environment(
        self,
        instance: int | None = None,
        render_mode: str | None = None,
        *,
        seed: int | None = None,
        instances: int | None = None,
        instance_seed: int | None = None,
    ) -> ScenarioEnv:
        """Makes the environment in which a policy was trained, as a Gymnasium environment.

        Args:
            instance: The instance of all episodes; without one, each episode takes place in a random one.
            render_mode: How episodes are shown, if they are.
            seed: The seed of the policy; without one, the first of the run. It matters only if seeds have instances of
                their own.
            instances: How many instances there are; as many as the run was evaluated in, if not given.
            instance_seed: The seed of the first; that of the run, if not given.

        Raises:
            RewardMachineError: The run has no such seed.
        """
        # Imported here, because training must also run where Gymnasium is not installed.
        from rewardmachines.envs.gymnasium.single import ScenarioEnv

        spec = self.spec.of_seed(self._seed(seed)).elsewhere(instances, instance_seed)
        observation = self.spec.config.observation
        return ScenarioEnv.of_spec(
            spec, self.hierarchy, observation=observation, instance=instance, render_mode=render_mode
        )


def _for_evaluation(config: AgentConfig, episodes: int) -> AgentConfig:
    """The settings for greedy episodes of full length, so many of them side by side."""
    if isinstance(config, HierarchicalDqnConfig):
        return for_evaluation(config, episodes)
    return replace(config, evaluate_steps=None)


def load_run(folder: str | Path) -> TrainRun:
    """Opens the folder of a run of `train`, finished or not.

    Args:
        folder: The folder of the run.

    Raises:
        RewardMachineError: There is no such run.
    """
    files = TrainFolder(Path(folder))
    order, hierarchy = files.read_order()
    return TrainRun(Path(folder), order, hierarchy, files.read_bank(order.spec))
