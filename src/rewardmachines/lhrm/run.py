"""A run of LHRM in its folder: what was asked for, what was learned, and policies that act."""

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
from rewardmachines.lhrm.policies import Actor, TaskEvaluation
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
    """A run of `learn` on disk, finished or not. What was read once is not read again."""

    folder: Path
    order: LearnOrder
    """What was asked for."""

    @property
    def spec(self) -> LearnSpec:
        """What is learned."""
        return self.order.spec

    @property
    def _files(self) -> LearnFolder:
        return LearnFolder(self.folder)

    @cached_property
    def worlds(self) -> CompiledWorlds:
        """Where it learns, with the true hierarchies of its tasks."""
        return self.spec.worlds()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Lowest first: the order in which rows speak of them."""
        return tuple(task.name for task in self.worlds.tasks)

    @property
    def levels(self) -> dict[str, int]:
        return {task.name: task.level for task in self.worlds.tasks}

    # -- what happened

    def rows(self) -> list[Row]:
        """A row for each chunk."""
        return list(read_records(Row, self._files.metrics, row_check(self.tasks, self.worlds.instances)))

    def moments(self) -> list[LearnMoment]:
        """When each chunk was done."""
        return list(read_records(LearnMoment, self._files.timing))

    def hierarchies(self) -> dict[str, Hierarchy]:
        """Those that were learned, by task, lowest first."""
        return self._files.read_machines(self.tasks)

    def examples(self) -> dict[str, tuple[Trace, ...]]:
        """What the learned ones must explain."""
        return self._files.read_examples(self.tasks)

    # -- as of the last checkpoint

    @cached_property
    def _last(self) -> Lhrm:
        """Without its arrays; it cannot go on."""
        run = Lhrm(self.worlds, self.spec.config, Solvers(), seed=self.spec.seed)
        path = self._files.checkpoint
        if path.exists():
            restore(run, read_snapshot(path, Snapshot), str(path))
        return run

    def learnings(self) -> dict[str, Learning]:
        """How the machines came about, by task."""
        return dict(self._last.learnings)

    def first(self) -> dict[str, int]:
        """Episodes from the beginning of its level to the first machine of a task."""
        return dict(self._last.first)

    def activated(self) -> dict[int, int]:
        """The episode at which each level began."""
        return dict(self._last.activated)

    @property
    def level(self) -> int:
        """One more than the highest when everything is mastered."""
        return self._last.curriculum.level

    def returns(self) -> dict[str, float]:
        """Means of the last evaluations, three at most; 0 before the first."""
        return mean_returns(self._last)

    def missing(self) -> dict[str, str]:
        """What every task that is not learned well enough lacks, in words; nothing, if all are."""
        ended = [row.ended for row in self.rows()]
        episodes = {name: sum(row[i] for row in ended) for i, name in enumerate(self.tasks)}
        return what_is_missing(self._last, episodes, self.order.stop_at)

    # -- acting

    @cached_property
    def _actor(self) -> Actor:
        if not self._files.policies.exists():
            raise RewardMachineError(f"{self.folder}: there are no policies yet")
        worlds = self.spec.worlds()
        return Actor(self._files.policies, Lhrm(worlds, self.spec.config, Solvers(), seed=self.spec.seed), worlds)

    def evaluate(self) -> list[TaskEvaluation]:
        """The policies that were written last, greedily, in all instances."""
        return self._actor.evaluate()

    def policy(self, task: str) -> Policy:
        """Acts on observations, with the hierarchy that was learned."""
        self.check_task(task)
        return self._actor.policy(task)

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
        """Whether it is one of them."""
        if task not in self.tasks:
            hint = suggestion(task, self.tasks) or f"; there are {', '.join(self.tasks)}"
            raise RewardMachineError(f"{self.folder}: there is no task '{task}' in this run{hint}")


def load_learning(folder: str | Path) -> LearnRun:
    """A run of `learn`, finished or not.

    Args:
        folder: Where it was made.

    Raises:
        RewardMachineError: There is no such run.
    """
    return LearnRun(Path(folder), LearnFolder(Path(folder)).read_order())
