"""The tasks of CraftWorld and WaterWorld (Tables 1 and 2 of the paper), with and without dead ends."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label, quote
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.language import Tie, compile_task
from rewardmachines.traces import singletons

CRAFTWORLD: Final = "craftworld"
WATERWORLD: Final = "waterworld"
DOMAINS: Final = (CRAFTWORLD, WATERWORLD)


@dataclass(frozen=True)
class Domain:
    """What can be observed in a domain, and what can be asked of an agent there."""

    name: str
    title: str
    propositions: tuple[str, ...]
    dead_end: str
    shows_one_at_a_time: bool
    tasks: Mapping[str, str]
    titles: Mapping[str, str]
    """What the paper calls each task."""

    def all_propositions(self, *, dead_ends: bool = False) -> tuple[str, ...]:
        return (*self.propositions, self.dead_end) if dead_ends else self.propositions

    def labels(self, *, dead_ends: bool = False) -> tuple[Label, ...] | None:
        """The labels that can occur; None for all sets of propositions."""
        return singletons(self.all_propositions(dead_ends=dead_ends)) if self.shows_one_at_a_time else None

    def task_name(self, name: str) -> str:
        """Our name of a task, which may be given as in the paper and in any case."""
        for known, title in self.titles.items():
            if name.casefold() in (known.casefold(), title.casefold()):
                return known
        hint = suggestion(name.casefold(), self.tasks) or f"; there are {', '.join(self.tasks)}"
        raise RewardMachineError(f"{self.title} has no task '{name}'{hint}")


@cache
def domain(name: str) -> Domain:
    if name.casefold() not in DOMAINS:
        raise RewardMachineError(f"there is no domain '{name}'; there are {', '.join(DOMAINS)}")
    file = resources.files("rewardmachines.library") / "data" / f"{name.casefold()}.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return Domain(
        name.casefold(),
        data["title"],
        tuple(data["propositions"]),
        data["dead_end"],
        data["one_at_a_time"],
        data["tasks"],
        {task: data["titles"].get(task, task) for task in data["tasks"]},
    )


def task(domain_name: str, name: str, *, dead_ends: bool = False) -> Hierarchy:
    """The hierarchy of a task; with dead ends, it must be done without ever seeing lava (or a black ball).

    >>> task("craftworld", "Book").height
    2
    """
    known = domain(domain_name)
    return _compiled(known.name, known.task_name(name), dead_ends)


@cache
def _compiled(domain_name: str, name: str, dead_ends: bool) -> Hierarchy:
    known = domain(domain_name)
    return compile_task(
        quote(name),
        known.tasks,
        avoid=(known.dead_end,) if dead_ends else (),
        propositions=known.all_propositions(dead_ends=dead_ends),
        tie=Tie.NEITHER,
    )
