"""A run that trains policies in Gymnasium environments, on disk: its settings, its metrics, and its policies."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.gymnasium.policy import GymnasiumPolicy
from rewardmachines.agents.gymnasium.runs.episodes import TrainedTask, environments_of
from rewardmachines.agents.gymnasium.runs.evaluation import greedy_episodes
from rewardmachines.agents.gymnasium.runs.folder import TrainGymnasiumFolder
from rewardmachines.agents.gymnasium.runs.session import look_at, setup_of_spec
from rewardmachines.agents.gymnasium.runs.spec import TrainGymnasiumOrder, TrainGymnasiumSpec, load_order
from rewardmachines.agents.gymnasium.senses_record import SensesRecord
from rewardmachines.agents.gymnasium.training import Setup
from rewardmachines.agents.training.policy_file import read_policy
from rewardmachines.agents.training.rows import Row, read_rows
from rewardmachines.agents.training.run import Evaluation
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.runs.config_file import difference
from rewardmachines.runs.metrics_log import Moment, read_records
from rewardmachines.runs.tensors import with_zeros

_MEMORIES = ("replay", "call_replay")
"""The fields of agents' states that only learning needs."""


@dataclass(frozen=True)
class TrainGymnasiumRun:
    """A run of `train_gymnasium` on disk, finished or not. No code is loaded from it, except to evaluate."""

    folder: Path
    order: TrainGymnasiumOrder
    """The settings of the run: what is trained, and when it ends."""
    hierarchy: Hierarchy
    """The hierarchy of the task."""

    @property
    def spec(self) -> TrainGymnasiumSpec:
        """What is trained."""
        return self.order.spec

    @property
    def files(self) -> TrainGymnasiumFolder:
        """The paths of the files of the run."""
        return TrainGymnasiumFolder(self.folder)

    def rows(self) -> list[Row]:
        """Reads the metrics of the run so far, a row for each chunk."""
        return read_rows(self.files.metrics, self.spec.seeds, self.spec.greedy_episodes)

    def moments(self) -> list[Moment]:
        """Reads the moments at which chunks were done."""
        return list(read_records(Moment, self.files.timing))

    def policy(
        self, task: str | None = None, *, best: bool = False, encode: Encode | None = None
    ) -> GymnasiumPolicy:  # fmt: skip
        """Reads the policy that was written last, or the one with the highest mean return. Nothing is imported.

        Args:
            task: The name of the task of the run, which need not be given.
            best: Whether to read the best one.
            encode: The function that encodes observations, if the run had one.

        Raises:
            RewardMachineError: The run has another task, or no such policy yet; or encode is missing.
        """
        self._check_task(task)
        setup = setup_of_spec(self.spec, self.hierarchy, encode)
        return setup.policy(self._learned(setup, best=best)[0])

    def evaluate(self, *, best: bool = False) -> list[Evaluation]:
        """Lets the policy act greedily in the environment of the run, whose module is imported for it.

        There is an episode in each instance, or several with seeds of their own, if there are no instances.

        Args:
            best: Whether the best policy acts, instead of the last one.

        Raises:
            RewardMachineError: There is no policy yet, or the environment cannot be found by a name, or is another.
        """
        where, spec = str(self.folder), self.spec
        encode = spec.senses.encode(where)
        task = TrainedTask(spec.task, self.hierarchy, spec.make_env(where), spec.instances)
        senses = look_at(task, encode)
        if differs := difference(SensesRecord.of(senses).without_names, spec.senses.without_names):
            raise RewardMachineError(f"{where}: the environment is another than the policy was trained in: {differs}")
        setup = setup_of_spec(spec, self.hierarchy, encode)
        agent_state, chunks = self._learned(setup, best=best)
        environments = environments_of(task, senses, spec.greedy_episodes, spec.max_steps, spec.seed + 2)
        with closing(environments):
            goals, lengths = greedy_episodes(setup, agent_state, environments, spec.greedy_episodes, chunks)
        return [Evaluation(spec.seed, tuple(goals.tolist()), tuple(lengths.tolist()))]

    def _check_task(self, task: str | None) -> None:
        if task not in (None, self.spec.task):
            raise RewardMachineError(f"{self.folder}: this run is about '{self.spec.task}', not '{task}'")

    def _learned(self, setup: Setup, *, best: bool) -> tuple[Any, int]:
        """The state of the agent, without its memories, and the number of chunks for which it has learned."""
        path = (self.files.best_policy if best else self.files.policy)(self.spec.task, self.spec.seed)
        if not path.exists():
            which = "no evaluation has judged a policy" if best else "there is no policy"
            raise RewardMachineError(f"{self.folder}: {which} yet")
        memory = np.zeros(setup.reading.shape if setup.reading.recall.choices is None else (), setup.reading.dtype)
        create = setup.programs.agent.create
        whole = jax.eval_shape(lambda: create(setup.task, memory, np.random.default_rng(0)))
        acting = whole._replace(**{name: None for name in _MEMORIES if name in whole._fields})
        agent_state, chunks = read_policy(path, acting)
        return with_zeros(agent_state), chunks


def load_gymnasium_training(folder: str | Path) -> TrainGymnasiumRun:
    """Opens the folder of a run of `train_gymnasium`, finished or not.

    Args:
        folder: The folder of the run.

    Raises:
        RewardMachineError: There is no such run.
    """
    files = TrainGymnasiumFolder(Path(folder))
    files.check_run()
    order = load_order(files.config)
    return TrainGymnasiumRun(files.path, order, files.read_hierarchy(order.spec.task))
