"""The machines of all tasks: which are there, who calls whom, and what has to be learned again when one changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine, machine


@dataclass(frozen=True)
class TaskSpec:
    """A task as LHRM knows it: a name and a level."""

    name: str
    level: int


def ranked(levels: Mapping[str, int]) -> tuple[TaskSpec, ...]:
    """Lowest first, otherwise in the order given. Where levels are missing, those above move down."""
    ranks = {level: rank for rank, level in enumerate(sorted(set(levels.values())), start=1)}
    return tuple(TaskSpec(name, ranks[levels[name]]) for name in sorted(levels, key=levels.__getitem__))


def without_machine_yet(name: str) -> RewardMachine:
    """The machine of a task of which nothing is known yet: it accepts and rejects nothing."""
    return machine(name, [], states=("u0", "uA", "uR"), rejecting=("uR",))


@dataclass(frozen=True)
class Pool:
    """One machine for each task, in the order of the tasks. Every change is a new pool."""

    tasks: tuple[TaskSpec, ...]
    propositions: tuple[str, ...]
    learned: Mapping[str, RewardMachine] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len({task.name for task in self.tasks}) != len(self.tasks):
            raise RewardMachineError("two tasks have the same name")

    @property
    def machines(self) -> tuple[RewardMachine, ...]:
        return tuple(self.learned.get(task.name) or without_machine_yet(task.name) for task in self.tasks)

    def hierarchy(self, name: str) -> Hierarchy:
        """Of a task: its machine, and those that it may call."""
        return Hierarchy(name, self.machines, self.propositions)

    def level(self, name: str) -> int:
        return next(task.level for task in self.tasks if task.name == name)

    def callables(self, name: str, restricted: Mapping[str, tuple[str, ...]] | None = None) -> tuple[Hierarchy, ...]:
        """What a task's machine may call: all learned machines of lower levels, or those of a given list."""
        level = self.level(name)
        lower = [t.name for t in self.tasks if t.level < level and t.name in self.learned]
        if restricted is not None:
            lower = [other for other in lower if other in restricted.get(name, ())]
        return tuple(self._needed(other) for other in lower)

    def _needed(self, name: str) -> Hierarchy:
        """With nothing in it that cannot be called: two roots that share a callee must agree on it, no more."""
        whole = self.hierarchy(name)
        return Hierarchy(name, whole.reachable(), self.propositions)

    def with_machine(self, new: RewardMachine) -> Pool:
        if new.name not in {task.name for task in self.tasks}:
            raise RewardMachineError(f"there is no task '{new.name}'")
        return replace(self, learned={**self.learned, new.name: new})

    def without_machine(self, name: str) -> Pool:
        """With nothing known of the task any more."""
        return replace(self, learned={other: m for other, m in self.learned.items() if other != name})

    def dependents(self, name: str) -> tuple[str, ...]:
        """The tasks whose machines call this one, directly or not, lowest first: to be learned again in this order."""
        found = {name}
        while more := {m.name for m in self.learned.values() if m.callees & found} - found:
            found |= more
        order = {task.name: (task.level, i) for i, task in enumerate(self.tasks)}
        return tuple(sorted(found - {name}, key=order.__getitem__))
