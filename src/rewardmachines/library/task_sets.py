"""Task sets: the propositions and tasks of a domain, as text: Tables 1 and 2 of the paper, classics, and yours."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.core.formula import Label, quote
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.language import Tie, compile_task
from rewardmachines.library.authors import (
    FLAT_SUFFIX,
    SUFFIXES,
    has_published,
    published_flat_machine,
    published_hierarchy,
)
from rewardmachines.library.offered import offered_domains
from rewardmachines.traces import singletons

CRAFTWORLD: Final = "craftworld"
WATERWORLD: Final = "waterworld"
DOMAINS: Final = (CRAFTWORLD, WATERWORLD)
"""The domains of the paper."""
OFFICE_WORLD: Final = "office"
CRAFT_WORLD: Final = "craft"
CLASSICS: Final = (OFFICE_WORLD, CRAFT_WORLD)
"""The domains in which reward machines were first tried, by Toro Icarte et al."""
_BUILT_IN: Final = (*DOMAINS, *CLASSICS)


@dataclass(frozen=True)
class TaskSet:
    """The propositions of a domain and its tasks, which may use each other by name."""

    name: str
    """The name of the domain, in lower case."""
    title: str
    """The title of the domain in texts."""
    propositions: tuple[str, ...]
    """The propositions that every setting of the domain has, in the order of the bits of a label."""
    tasks: Mapping[str, str]
    """Task expressions by the names of the tasks, easy ones first."""
    dead_end: str | None = None
    """The proposition that fails every task where it can be observed; none, if there is no such proposition."""
    shows_one_at_a_time: bool = False
    """Whether at most one proposition can be observed at a time."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """The paper's name of a task, where that is not its name."""

    def all_propositions(self, *, dead_ends: bool = False) -> tuple[str, ...]:
        """The propositions, with that of dead ends if it is asked for and exists."""
        return (*self.propositions, self.dead_end) if dead_ends and self.dead_end else self.propositions

    def labels(self, *, dead_ends: bool = False) -> tuple[Label, ...] | None:
        """The labels that can occur; None for all sets of propositions."""
        return singletons(self.all_propositions(dead_ends=dead_ends)) if self.shows_one_at_a_time else None

    def task_name(self, name: str) -> str:
        """Our name of a task, which may be given as in the paper and in any case.

        `@published` behind it asks for the authors' own hierarchy, `@published-flat` for their flat machine.

        Raises:
            RewardMachineError: There is no such task.
        """
        name, suffix = _split(name.casefold())
        for known in self.tasks:
            if name in (known.casefold(), self.titles.get(known, known).casefold()):
                if suffix and not has_published(self.name, known):
                    raise RewardMachineError(f"{self.title}: the paper has no hierarchy of its own for '{known}'")
                return known + suffix
        hint = suggestion(name, self.tasks) or f"; there are {', '.join(self.tasks)}"
        raise RewardMachineError(f"{self.title} has no task '{name}'{hint}")

    def hierarchy(self, name: str, *, dead_ends: bool = False) -> Hierarchy:
        """The hierarchy of a task; with dead ends, it must be done without ever observing their proposition."""
        (name, suffix), propositions = _split(self.task_name(name)), self.all_propositions(dead_ends=dead_ends)
        avoided = self.dead_end if dead_ends else None
        if suffix:
            published = published_flat_machine if suffix == FLAT_SUFFIX else published_hierarchy
            return published(self.name, name, avoided, propositions)
        return _compiled(name, tuple(self.tasks.items()), () if avoided is None else (avoided,), propositions)


def _split(name: str) -> tuple[str, str]:
    """The name of a task without what asks for something of the authors, and that."""
    suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
    return name.removesuffix(suffix), suffix


@cache
def _compiled(
    name: str, tasks: tuple[tuple[str, str], ...], avoid: tuple[str, ...], propositions: tuple[str, ...]
) -> Hierarchy:
    return compile_task(quote(name), dict(tasks), avoid=avoid, propositions=propositions, tie=Tie.NEITHER)


_ADDED: Final[dict[str, TaskSet]] = {}
"""Task sets of domains that do not come with the package, by their names."""


def add_task_set(tasks: TaskSet) -> None:
    """Makes the tasks of a domain known to the library, as `name/task`.

    Raises:
        DuplicateNameError: There is another domain of that name.
    """
    if tasks.name in _BUILT_IN or _ADDED.get(tasks.name, tasks) != tasks:
        raise DuplicateNameError(f"there is another domain called '{tasks.name}'")
    _ADDED[tasks.name] = tasks


def remove_task_set(name: str) -> None:
    """Forgets the tasks of a domain that was added."""
    _ADDED.pop(name, None)


def task_sets() -> tuple[TaskSet, ...]:
    """All task sets: those of the paper, the classics, then those that were added."""
    return (*map(_published, _BUILT_IN), *_ADDED.values())


def domain_names() -> tuple[str, ...]:
    """The names of all domains that can be found: built-in, added, and offered ones. Nothing is loaded."""
    return tuple(dict.fromkeys((*_BUILT_IN, *_ADDED, *offered_domains())))


def task_set(name: str) -> TaskSet:
    """The propositions and tasks of a domain.

    Raises:
        RewardMachineError: There is no such domain.
    """
    tasks = find_task_set(name)
    if tasks is None:
        known = [*_BUILT_IN, *_ADDED]
        hint = suggestion(name.casefold(), known) or f"; there are {', '.join(known)}"
        raise RewardMachineError(f"there is no domain '{name}'{hint}")
    return tasks


def find_task_set(name: str) -> TaskSet | None:
    """The propositions and tasks of a domain, or None if there is no such domain."""
    name = name.casefold()
    return _published(name) if name in _BUILT_IN else _ADDED.get(name)


@cache
def _published(name: str) -> TaskSet:
    file = resources.files("rewardmachines.library") / "data" / f"{name}.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return TaskSet(
        name=name,
        title=data["title"],
        propositions=tuple(data["propositions"]),
        tasks=data["tasks"],
        dead_end=data.get("dead_end"),
        shows_one_at_a_time=data["one_at_a_time"],
        titles=data.get("titles", {}),
    )


def task(domain_name: str, name: str, *, dead_ends: bool = False) -> Hierarchy:
    """The hierarchy of a task; with dead ends, it must be done without ever seeing lava (or a black ball).

    >>> task("craftworld", "Book").height
    2
    """
    return task_set(domain_name).hierarchy(name, dead_ends=dead_ends)
