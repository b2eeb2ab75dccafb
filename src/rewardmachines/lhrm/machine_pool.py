"""The machines of all tasks, their calls, and the machines to be relearned when a callee changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine, machine
from rewardmachines.lhrm.config import Callables
from rewardmachines.rollout.suite import TaskSpec


def without_machine_yet(name: str) -> RewardMachine:
    """The machine of a task without a learned machine: it never leaves its initial state."""
    return machine(name, [], states=("u0", "uA", "uR"), rejecting=("uR",))


@dataclass(frozen=True)
class Pool:
    """One machine for each task, in the order of the tasks. Every change is a new pool."""

    tasks: tuple[TaskSpec, ...]
    propositions: tuple[str, ...]
    learned: Mapping[str, RewardMachine] = field(default_factory=dict)
    """The machines of tasks that have one, by their names."""
    given: tuple[RewardMachine, ...] = ()
    """Machines that were there from the beginning, on a level below all tasks. They are never learned again."""

    def __post_init__(self) -> None:
        if both := {task.name for task in self.tasks} & {machine.name for machine in self.given}:
            raise RewardMachineError(f"'{min(both)}' is in the bank of skills already: leave it out of the tasks")
        if len({task.name for task in self.tasks}) != len(self.tasks):
            raise RewardMachineError("two tasks have the same name")

    @property
    def machines(self) -> tuple[RewardMachine, ...]:
        """A machine for each task, one that does nothing where none is learned; then those that are given."""
        own = (self.learned.get(task.name) or without_machine_yet(task.name) for task in self.tasks)
        return (*own, *self.given)

    def hierarchy(self, name: str) -> Hierarchy:
        """The hierarchy of a task: all machines of the pool, with the task's own as the root."""
        return Hierarchy(name, self.machines, self.propositions)

    def needed_by(self, name: str) -> frozenset[str]:
        """The names of the machines that the hierarchy of a task is made of, its own included."""
        return frozenset(machine.name for machine in self.hierarchy(name).reachable())

    def level(self, name: str) -> int:
        """The level of a task."""
        return next(task.level for task in self.tasks if task.name == name)

    def callables(self, name: str, restricted: Mapping[str, tuple[str, ...]] | None = None) -> tuple[Hierarchy, ...]:
        """The hierarchies that a task's machine may call.

        Args:
            name: The task.
            restricted: The tasks that each task may call; all learned ones of lower levels, if not given.
        """
        level = self.level(name)
        lower = [t.name for t in self.tasks if t.level < level and t.name in self.learned]
        lower += [machine.name for machine in self.given]
        if restricted is not None:
            lower = [other for other in lower if other in restricted.get(name, ())]
        return tuple(self._needed(other) for other in lower)

    def _needed(self, name: str) -> Hierarchy:
        """The hierarchy of a task, reduced to the machines that it can call, which alone matter for the learner."""
        whole = self.hierarchy(name)
        return Hierarchy(name, whole.reachable(), self.propositions)

    def with_machine(self, new: RewardMachine) -> Pool:
        """The pool with a new machine of the task of its name.

        Raises:
            RewardMachineError: There is no such task.
        """
        if new.name not in {task.name for task in self.tasks}:
            raise RewardMachineError(f"there is no task '{new.name}'")
        return replace(self, learned={**self.learned, new.name: new})

    def without_machine(self, name: str) -> Pool:
        """The pool without the machine of a task."""
        return replace(self, learned={other: m for other, m in self.learned.items() if other != name})

    def dependents(self, name: str) -> tuple[str, ...]:
        """The tasks whose machines call this machine, directly or not, lowest level first: the order of relearning."""
        found = {name}
        while more := {m.name for m in self.learned.values() if m.callees & found} - found:
            found |= more
        order = {task.name: (task.level, i) for i, task in enumerate(self.tasks)}
        return tuple(sorted(found - {name}, key=order.__getitem__))


def check_tasks(pool: Pool, dependencies: Mapping[str, tuple[str, ...]], callables: Callables) -> None:
    """Checks that all machines which restricted machines may call are among the tasks.

    Raises:
        RewardMachineError: The true machine of a task calls one that is not among the tasks.
    """
    if callables is not Callables.RESTRICTED:
        return
    names = {machine.name for machine in pool.machines}
    for name in names:
        if missing := [other for other in dependencies.get(name, ()) if other not in names]:
            raise RewardMachineError(f"'{name}' may call '{missing[0]}', which is not among the tasks to learn")
