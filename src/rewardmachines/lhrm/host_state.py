"""The host state of LHRM, which is not on the device, as a JSON record.

The tables are not part of it. They are computed again from the machines, and from the labels and formulas that the
registry of options has received. In the same order, these give the same arrays.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from rewardmachines.agents.bank.manifest import ChangeRecord
from rewardmachines.agents.options.tables import OptionCapacity
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction
from rewardmachines.files import loads, plain
from rewardmachines.lhrm.curriculum import Curriculum
from rewardmachines.lhrm.induction import TaskProgress
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.lhrm.tables import OptionRegistry
from rewardmachines.lowered import Capacity
from rewardmachines.rollout.rows import Counters


@dataclass(frozen=True)
class RegistryState:
    """The state of the registry of options."""

    changes: tuple[ChangeRecord, ...]
    """The labels and formulas that it has received, in order."""
    fatal: frozenset[frozenset[str]]
    """The labels at which episodes have ended in dead ends."""
    contexts: tuple[Conjunction, ...]
    """The contexts of calls, in the order of their numbers."""
    room: Capacity
    """The sizes of the arrays of machines."""
    option_room: OptionCapacity
    """The sizes of the arrays of options."""

    @classmethod
    def of(cls, registry: OptionRegistry) -> RegistryState:
        """The state of a registry."""
        changes = tuple(map(ChangeRecord.of, registry.changes))
        return cls(changes, registry.fatal, tuple(registry.contexts), registry.room, registry.option_room)

    def registry(self) -> OptionRegistry:
        """A registry in this state."""
        made = OptionRegistry(room=self.room, option_room=self.option_room, contexts=self.contexts, fatal=self.fatal)
        made.repeat(record.change() for record in self.changes)
        return made


@dataclass(frozen=True)
class PoolState:
    """The machines of all tasks."""

    learned: tuple[str, ...]
    """The names of the tasks that have a learned machine."""
    machines: str
    """A machine file with the machines of all tasks, learned or not."""

    @classmethod
    def of(cls, pool: Pool) -> PoolState:
        """The state of a pool."""
        return cls(tuple(pool.learned), json.dumps(plain(pool.hierarchy(pool.tasks[0].name))))

    def pool(self, empty: Pool, where: str) -> Pool:
        """A pool in this state.

        Args:
            empty: The pool of the same tasks without machines.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: The record is damaged.
        """
        hierarchy = loads(self.machines, f"{where}, machines")
        if missing := set(self.learned) - {machine.name for machine in hierarchy.machines}:
            raise RewardMachineError(f"{where}: damaged, it lacks the machine '{min(missing)}'")
        return replace(empty, learned={name: hierarchy[name] for name in self.learned})


@dataclass(frozen=True)
class LhrmState:
    """The host state of a run of LHRM, which is not on the device."""

    counters: Counters
    recent: tuple[tuple[tuple[float, ...], ...], ...]
    """The returns of the last evaluations, by task and instance."""
    activated: tuple[int, ...]
    """The number of episodes after which each level began, from the first level."""
    first: dict[str, int]
    """Episodes from the beginning of a task's level to its first machine."""
    curriculum: Curriculum
    pool: PoolState
    progress: dict[str, TaskProgress]
    """The progress of learning the machine of each task."""
    registry: RegistryState
    chance: str
    """The state of the random generator, as JSON."""

    def check(self, tasks: tuple[str, ...], curriculum: Curriculum, instances: int, where: str) -> None:
        """Checks that the state is one of a run with these tasks and instances.

        Args:
            tasks: The names of the tasks.
            curriculum: The curriculum of the run at its beginning.
            instances: The number of instances that tasks are evaluated in.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: The state is of another run.
        """
        mine, own = self.curriculum, curriculum
        if (
            tuple(self.progress) != tasks
            or not set(self.first) <= set(tasks)
            or not set(self.pool.learned) <= set(tasks)
            or any([len(row) for row in returns] != [instances] * len(tasks) for returns in self.recent)
            or (mine.levels, mine.instances, mine.weight, mine.threshold)
            != (own.levels, own.instances, own.weight, own.threshold)
            or [len(row) for row in mine.running] != [own.instances] * len(tasks)
            or not {*mine.dropped, *mine.revisited} <= set(range(len(tasks)))
        ):
            raise RewardMachineError(f"{where}: damaged, it speaks of other tasks or instances than the run")
