"""The machines that the paper draws, and its family of hierarchies that are exponentially smaller than flat ones."""

from __future__ import annotations

from importlib import resources

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.machine import machine
from rewardmachines.files.machines import loads


def figure_names() -> tuple[str, ...]:
    """The names of all hierarchies that the paper draws."""
    folder = resources.files("rewardmachines.library") / "data" / "figures"
    return tuple(sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")))


def figure(name: str) -> Hierarchy:
    """A hierarchy as drawn in the paper."""
    if name not in figure_names():
        hint = suggestion(name, figure_names()) or f"; there are {', '.join(figure_names())}"
        raise RewardMachineError(f"there is no figure '{name}'{hint}")
    file = resources.files("rewardmachines.library") / "data" / "figures" / f"{name}.yaml"
    return loads(file.read_text(encoding="utf-8"), source=f"{name}.yaml")


def exponential_family(height: int) -> Hierarchy:
    """Each machine calls the one below twice, the lowest observes a and then b: 3·height states, flat 2^height + 1.

    >>> exponential_family(3).height
    3
    """
    if height < 1:
        raise RewardMachineError(f"a hierarchy is at least 1 high, not {height}")
    machines = [machine("M1", [("u0", "u1", "a"), ("u1", "uA", "b")])]
    for i in range(2, height + 1):
        callee = f"M{i - 1}"
        machines.append(machine(f"M{i}", [("u0", "u1", "true", callee), ("u1", "uA", "true", callee)]))
    return Hierarchy(f"M{height}", tuple(reversed(machines)), ("a", "b"))
