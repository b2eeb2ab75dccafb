"""The tasks of a program: which are used, what they mention, and whether all names mean something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rewardmachines.core.errors import (
    CircularCallError,
    RewardMachineError,
    TooLargeError,
    UnknownPropositionError,
)
from rewardmachines.core.formula import Formula
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.language.syntax import AnyOrder, Either, Event, Name, ParsedTask, Step, Then, parse_task

MAX_NAMED: Final = 150


class Program:
    """The tasks that are used, parsed and with all names resolved."""

    def __init__(
        self,
        expression: str,
        tasks: Mapping[str, str],
        avoid: tuple[str, ...],
        propositions: Iterable[str] | None,
        name: str,
        machines: Hierarchy | None = None,
    ) -> None:
        self._texts = tasks
        self.given = {} if machines is None else {machine.name: machine for machine in machines.machines}
        self._declared = None if propositions is None else tuple(propositions)
        if both := sorted(set(self._declared or ()) & {*tasks, *self.given}):
            raise RewardMachineError(f"'{both[0]}' is both a proposition and a task: rename one")
        if both := sorted(set(tasks) & set(self.given)):
            raise RewardMachineError(f"'{both[0]}' is both a task and a machine: rename one")
        self.tasks: dict[str, ParsedTask] = {}
        self.root = self._add_root(expression, name)
        self.avoid = tuple(dict.fromkeys([*avoid, *(n.name for task in self.tasks.values() for n in task.avoid)]))
        self.propositions = self._all_propositions(avoid)

    def _add_root(self, expression: str, name: str) -> str:
        root = parse_task(expression)
        if isinstance(root.body, Name) and not root.avoid and self.is_task(root.body.name):
            if root.body.name in self._texts:
                self._add(root.body.name, ())
            return root.body.name
        if self.is_task(name):
            raise RewardMachineError(f"the root cannot be called '{name}': a task has that name; pass another name")
        self.tasks[name] = root
        for used in self.used(root):
            self._add(used, (name,))
        return name

    def _add(self, name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise CircularCallError(
                f"tasks use each other in a circle: {' -> '.join([*path[path.index(name) :], name])}"
            )
        if name in self.tasks:
            return
        if len(path) > MAX_NAMED:
            raise TooLargeError(f"tasks use each other more than {MAX_NAMED} deep")
        task = parse_task(self._texts[name], f"task '{name}'")
        for used in self.used(task):
            self._add(used, (*path, name))
        self.tasks[name] = task

    def used(self, task: ParsedTask) -> list[str]:
        """The names of the tasks that a task uses, machines that are given aside."""
        return [n.name for n in names_in(task.body) if n.name in self._texts]

    def is_task(self, name: str) -> bool:
        """Whether the name is that of a task or of a machine that is given, and not of a proposition."""
        return name in self._texts or name in self.given

    def _all_propositions(self, avoid: tuple[str, ...]) -> tuple[str, ...]:
        used: dict[str, str] = {}
        for name, task in self.tasks.items():
            for mentioned in _mentioned(task):
                if not self.is_task(mentioned):
                    used.setdefault(mentioned, name)
        used |= {p: self.root for p in avoid if p not in used}
        if wrong := [p for p in self.avoid if self.is_task(p)]:
            raise RewardMachineError(f"'{wrong[0]}' is a task: only propositions can be avoided")
        if self._declared is None:
            return tuple(sorted({*used, *(p for machine in self.given.values() for p in machine.propositions)}))
        for proposition, name in used.items():
            if proposition not in self._declared:
                hint = suggestion(proposition, [*self._declared, *self._texts, *self.given])
                raise UnknownPropositionError(
                    f"task '{name}': '{proposition}' is neither a declared proposition nor a task{hint}"
                )
        return self._declared


def names_in(step: Step) -> list[Name]:
    """The names in a step, of propositions and tasks; those inside of formulas aside."""
    match step:
        case Name():
            return [step]
        case Event():
            return []
        case Then(steps) | AnyOrder(steps) | Either(steps):
            return [name for inner in steps for name in names_in(inner)]


def _mentioned(task: ParsedTask) -> list[str]:
    in_events = frozenset().union(*(formula.propositions for formula in events_of(task.body)))
    return [n.name for n in (*names_in(task.body), *task.avoid)] + sorted(in_events)


def events_of(step: Step) -> list[Formula]:
    """The formulas that the step waits for."""
    match step:
        case Name():
            return []
        case Event(formula):
            return [formula]
        case Then(steps) | AnyOrder(steps) | Either(steps):
            return [formula for inner in steps for formula in events_of(inner)]
