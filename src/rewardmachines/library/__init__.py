"""The tasks and machines of the paper and of the classic worlds, as data.

`find` knows everything in the library by name: `craftworld/book`, `waterworld/rg+black`, `figures/book`,
`exponential/5`.
`craftworld/book@published` and `craftworld/book@published+lava` are the hierarchies of the authors' experiments,
`craftworld/book@published-flat` and `craftworld/book@published-flat+lava` their flat machines.
"""

from __future__ import annotations

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.library.authors import SUFFIXES, has_published
from rewardmachines.library.figures import exponential_family, figure, figure_names
from rewardmachines.library.offered import missing_extra, offered_domains
from rewardmachines.library.task_sets import (
    CLASSICS,
    CRAFT_WORLD,
    CRAFTWORLD,
    DOMAINS,
    OFFICE_WORLD,
    WATERWORLD,
    TaskSet,
    add_task_set,
    domain_names,
    find_task_set,
    remove_task_set,
    task,
    task_set,
    task_sets,
)

domain = task_set
"""The propositions and tasks of a domain, by the name that this function had before."""

__all__ = [
    "CLASSICS",
    "CRAFTWORLD",
    "CRAFT_WORLD",
    "DOMAINS",
    "OFFICE_WORLD",
    "WATERWORLD",
    "TaskSet",
    "add_task_set",
    "domain",
    "domain_names",
    "exponential_family",
    "figure",
    "figure_names",
    "find",
    "missing_extra",
    "names",
    "offered_domains",
    "remove_task_set",
    "task",
    "task_set",
    "task_sets",
]


def names() -> list[str]:
    """The names that `find` knows; `exponential/` takes any height."""
    tasks = [f"{known.name}/{name}" for known in task_sets() for name in _variants(known)]
    return [*tasks, *(f"figures/{name}" for name in figure_names()), "exponential/3"]


def _variants(known: TaskSet) -> list[str]:
    """Every task of a domain, without and with dead ends, and as the authors have it."""
    endings = [""] if known.dead_end is None else ["", f"+{known.dead_end}"]
    ours = [name + ending for name in known.tasks for ending in endings]
    published = [name for name in known.tasks if has_published(known.name, name)]
    theirs = [name + suffix + ending for suffix in reversed(SUFFIXES) for name in published for ending in endings]
    return [*ours, *theirs]


def find(name: str) -> Hierarchy:
    """The hierarchy of that name.

    >>> find("craftworld/book+lava").root
    'book'
    """
    shelf, _, rest = name.partition("/")
    if (known := find_task_set(shelf)) is not None:
        ending = f"+{known.dead_end}"
        dead_ends = known.dead_end is not None and rest.endswith(ending)
        return known.hierarchy(rest.removesuffix(ending) if dead_ends else rest, dead_ends=dead_ends)
    if shelf == "figures":
        return figure(rest)
    if shelf == "exponential" and rest.isdecimal() and len(rest) < 4:
        return exponential_family(int(rest))
    meant = suggestion(name, names()) or "; `hrm library` lists what there is"
    raise RewardMachineError(f"the library has nothing called '{name}'{meant}")
