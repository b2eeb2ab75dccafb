"""A run of LHRM on disk: its settings, its metrics, what it has learned, and its policies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rewardmachines.agents.policy import Policy
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row, row_check
from rewardmachines.lhrm.diagnosis import mean_returns, what_is_missing
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.induction import Learning
from rewardmachines.lhrm.policies import RunPolicies, TaskEvaluation
from rewardmachines.lhrm.resumable import LearnMoment
from rewardmachines.lhrm.snapshot import Snapshot, restore
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec
from rewardmachines.lhrm.worlds.compiled import CompiledWorlds
from rewardmachines.runs.checkpoint import read_snapshot
from rewardmachines.runs.metrics_log import read_records
from rewardmachines.traces import Trace

if TYPE_CHECKING:
    from rewardmachines.envs.gymnasium.single import ScenarioEnv


@dataclass(frozen=True)
class LearnRun:
    """A run of `learn` on disk, finished or not. Its last checkpoint and its policies are read only once."""

    folder: Path
    order: LearnOrder
    """The settings of the run: what is learned, and when it ends."""

    @property
    def spec(self) -> LearnSpec:
        """What is learned."""
        return self.order.spec

    @property
    def _files(self) -> LearnFolder:
        return LearnFolder(self.folder)

    @cached_property
    def worlds(self) -> CompiledWorlds:
        """The tasks with their true hierarchies, and the scenario in which they are learned."""
        return self.spec.worlds()

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, lowest level first: the order in which rows list them."""
        return tuple(task.name for task in self.worlds.tasks)

    @property
    def levels(self) -> dict[str, int]:
        """The level of each task in the curriculum."""
        return {task.name: task.level for task in self.worlds.tasks}

    # -- files

    def rows(self) -> list[Row]:
        """Reads the metrics of the run so far, a row for each chunk."""
        return list(read_records(Row, self._files.metrics, row_check(self.tasks, self.worlds.instances)))

    def moments(self) -> list[LearnMoment]:
        """Reads the moments at which chunks were done."""
        return list(read_records(LearnMoment, self._files.timing))

    def hierarchies(self) -> dict[str, Hierarchy]:
        """Reads the hierarchies that were learned, by task, lowest level first."""
        return self._files.read_machines(self.tasks)

    def examples(self) -> dict[str, tuple[Trace, ...]]:
        """Reads the traces that the learned hierarchies must explain, by task."""
        return self._files.read_examples(self.tasks)

    # -- the state at the last checkpoint

    @cached_property
    def _last(self) -> Lhrm:
        """The algorithm at the last checkpoint, without its arrays on the device, so that it cannot go on."""
        run = Lhrm(self.worlds, self.spec.config, Solvers(), seed=self.spec.seed)
        path = self._files.checkpoint
        if path.exists():
            restore(run, read_snapshot(path, Snapshot), str(path))
        return run

    def learnings(self) -> dict[str, Learning]:
        """How the machine of each task was learned: its examples, searches and setbacks."""
        return dict(self._last.learnings)

    def first(self) -> dict[str, int]:
        """Episodes from the beginning of a task's level to its first machine, by task."""
        return dict(self._last.first)

    def activated(self) -> dict[int, int]:
        """The number of episodes after which each level began, by level."""
        return dict(self._last.activated)

    @property
    def level(self) -> int:
        """The present level of the curriculum; one more than the highest when all are mastered."""
        return self._last.curriculum.level

    def returns(self) -> dict[str, float]:
        """The mean return of each task in the last evaluations, three at most; 0 before the first."""
        return mean_returns(self._last)

    def missing(self) -> dict[str, str]:
        """What every task that is not learned well enough lacks, in words; empty if all are learned."""
        ended = [row.ended for row in self.rows()]
        episodes = {name: sum(row[i] for row in ended) for i, name in enumerate(self.tasks)}
        return what_is_missing(self._last, episodes, self.order.stop_at)

    # -- policies and environments

    @cached_property
    def _policies(self) -> RunPolicies:
        if not self._files.policies.exists():
            raise RewardMachineError(f"{self.folder}: there are no policies yet")
        worlds = self.spec.worlds()
        run = Lhrm(worlds, self.spec.config, Solvers(), seed=self.spec.seed)
        return RunPolicies(self._files.policies, run, worlds)

    def evaluate(self) -> list[TaskEvaluation]:
        """Lets the policies that were written last act greedily, for one episode of each task in each instance.

        Raises:
            RewardMachineError: There are no policies yet.
        """
        return self._policies.evaluate()

    def policy(self, task: str) -> Policy:
        """The policy of a task, which acts on observations and labels and follows the learned hierarchy.

        Raises:
            RewardMachineError: There is no such task in the run, or no machine for it, or there are no policies yet.
        """
        self.check_task(task)
        return self._policies.policy(task)

    def environment(self, task: str, instance: int | None = None, render_mode: str | None = None) -> ScenarioEnv:
        """Makes the environment in which a task was learned, as a Gymnasium environment with the task's true hierarchy.

        Args:
            task: The name of a task of the run.
            instance: The instance of all episodes; without one, each episode takes place in a random one.
            render_mode: How episodes are shown, if they are.

        Raises:
            RewardMachineError: The run has no such task.
        """
        # Imported here, because learning must also run where Gymnasium is not installed.
        from rewardmachines.envs.gymnasium.single import ScenarioEnv

        self.check_task(task)
        tree, observation = self.worlds.tree(task), self.spec.config.agent.observation
        return ScenarioEnv.of_spec(self.spec, tree, observation=observation, instance=instance, render_mode=render_mode)

    def check_task(self, task: str) -> None:
        """Checks that the run has a task of that name.

        Raises:
            RewardMachineError: It has none.
        """
        if task not in self.tasks:
            hint = suggestion(task, self.tasks) or f"; there are {', '.join(self.tasks)}"
            raise RewardMachineError(f"{self.folder}: there is no task '{task}' in this run{hint}")


def load_learning(folder: str | Path) -> LearnRun:
    """Opens the folder of a run of `learn`, finished or not.

    Args:
        folder: The folder of the run.

    Raises:
        RewardMachineError: There is no such run.
    """
    return LearnRun(Path(folder), LearnFolder(Path(folder)).read_order())
