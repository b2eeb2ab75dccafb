"""One name for everything in the library: `craftworld/book`, `waterworld/rg+black`, `figures/book`, `exponential/5`."""

from __future__ import annotations

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.library.domains import DOMAINS, domain, task
from rewardmachines.library.figures import exponential_family, figure, figure_names


def names() -> list[str]:
    """Everything that `find` finds; `exponential/` takes any height."""
    found = []
    for known in map(domain, DOMAINS):
        for name in known.tasks:
            found += [f"{known.name}/{name}", f"{known.name}/{name}+{known.dead_end}"]
    return [*found, *(f"figures/{name}" for name in figure_names()), "exponential/3"]


def find(name: str) -> Hierarchy:
    """The hierarchy of that name.

    >>> find("craftworld/book+lava").root
    'book'
    """
    shelf, _, rest = name.partition("/")
    if shelf.casefold() in DOMAINS:
        known = domain(shelf)
        dead_ends = rest.endswith(f"+{known.dead_end}")
        return task(shelf, rest.removesuffix(f"+{known.dead_end}"), dead_ends=dead_ends)
    if shelf == "figures":
        return figure(rest)
    if shelf == "exponential" and rest.isdecimal() and len(rest) < 4:
        return exponential_family(int(rest))
    raise RewardMachineError(f"the library has nothing called '{name}'; `hrm library` lists what there is")
