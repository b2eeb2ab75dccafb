"""What all runs of LHRM on disk have in common: metrics, machines, examples, and the state at the last checkpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row, row_check
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.diagnosis import mean_returns, what_is_missing
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.induction import Learning
from rewardmachines.lhrm.machine_pool import TaskSpec
from rewardmachines.lhrm.resumable import LearnMoment
from rewardmachines.lhrm.snapshot import Snapshot, restore
from rewardmachines.lhrm.worlds.protocol import TaskWorlds
from rewardmachines.runs.metrics_log import read_records
from rewardmachines.traces import Trace


class AnySpec(Protocol):
    """The part of a specification that all runs of LHRM have."""

    @property
    def config(self) -> LhrmConfig: ...

    @property
    def seed(self) -> int: ...


@dataclass(frozen=True)
class StoredRun(ABC):
    """A run of LHRM on disk, finished or not. Its last checkpoint is read only once."""

    folder: Path

    @property
    @abstractmethod
    def spec(self) -> AnySpec:
        """What is learned."""

    @property
    @abstractmethod
    def worlds(self) -> TaskWorlds:
        """What is known of tasks and environments."""

    @property
    @abstractmethod
    def good_enough(self) -> float:
        """The mean return that is good enough for every task; 0 if none is."""

    @abstractmethod
    def last_snapshot(self) -> Snapshot | None:
        """The snapshot of the last checkpoint, if there is one."""

    @property
    def bank(self) -> Bank | None:
        """The bank of skills that it began with, if it began with one."""
        return None

    @property
    def ranked_tasks(self) -> tuple[TaskSpec, ...]:
        """The tasks, lowest level first."""
        return self.worlds.tasks

    @property
    def instance_count(self) -> int:
        """The number of instances of every task."""
        return self.worlds.instances

    def begun(self) -> Lhrm:
        """The algorithm with the settings of the run, at its beginning."""
        return Lhrm(self.worlds, self.spec.config, Solvers(), seed=self.spec.seed, bank=self.bank)

    @property
    def files(self) -> LearnFolder:
        """The paths of the files of the run."""
        return LearnFolder(self.folder)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, lowest level first: the order in which rows list them."""
        return tuple(task.name for task in self.ranked_tasks)

    @property
    def levels(self) -> dict[str, int]:
        """The level of each task in the curriculum."""
        return {task.name: task.level for task in self.ranked_tasks}

    # -- files

    def rows(self) -> list[Row]:
        """Reads the metrics of the run so far, a row for each chunk."""
        return list(read_records(Row, self.files.metrics, row_check(self.tasks, self.instance_count)))

    def moments(self) -> list[LearnMoment]:
        """Reads the moments at which chunks were done."""
        return list(read_records(LearnMoment, self.files.timing))

    def hierarchies(self) -> dict[str, Hierarchy]:
        """Reads the hierarchies that were learned, by task, lowest level first."""
        return self.files.read_machines(self.tasks)

    def examples(self) -> dict[str, tuple[Trace, ...]]:
        """Reads the traces that the learned hierarchies must explain, by task."""
        return self.files.read_examples(self.tasks)

    # -- the state at the last checkpoint

    @cached_property
    def _last(self) -> Lhrm:
        """The algorithm at the last checkpoint, without its arrays on the device, so that it cannot go on."""
        run, snapshot = self.begun(), self.last_snapshot()
        if snapshot is not None:
            restore(run, snapshot, str(self.files.checkpoint))
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
        return what_is_missing(self._last, episodes, self.good_enough)

    def check_task(self, task: str) -> None:
        """Checks that the run has a task of that name.

        Raises:
            RewardMachineError: It has none.
        """
        if task not in self.tasks:
            hint = suggestion(task, self.tasks) or f"; there are {', '.join(self.tasks)}"
            raise RewardMachineError(f"{self.folder}: there is no task '{task}' in this run{hint}")
