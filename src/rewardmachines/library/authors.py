"""The hierarchies that the authors' own experiments use, where they differ from what a task expression compiles to.

In settings with dead ends, states of theirs that only call have no edge of their own for the dead end: the machine that
is called rejects. That changes which options there are to choose. Where two machines are called in any order, one of
the calls is made for every label and the other only if nothing begins the first. See Annex A of their appendix for the
sizes.

Their flat machines are the smallest with the same verdicts on all labels, also on those that cannot occur. So a dead
end is one option in all states, and every other formula rules it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final, TypeAlias

from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import quote
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import ACCEPTING, LEAF, REJECTING, Edge, RewardMachine, machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.text import parse_formula

SUFFIX: Final = "@published"
"""The suffix of a task's name that asks for the authors' hierarchy."""
FLAT_SUFFIX: Final = "@published-flat"
"""The suffix of a task's name that asks for the authors' flat machine."""
SUFFIXES: Final = (FLAT_SUFFIX, SUFFIX)

Edges: TypeAlias = tuple[tuple[str, str, str, str], ...]
"""Source, target, formula and callee."""


def _sequence(*propositions: str) -> Edges:
    """One proposition after the other."""
    states = ("u0", *(f"u{i}" for i in range(1, len(propositions))), ACCEPTING)
    return tuple((a, b, quote(p), LEAF) for a, b, p in zip(states, states[1:], propositions, strict=False))


def _diamond(first: str, second: str, last: str) -> Edges:
    """Two propositions in any order, where the first wins if both are observed, and then a third."""
    return (
        ("u0", "u1", first, LEAF),
        ("u0", "u2", f"{second} & !{first}", LEAF),
        ("u1", "u3", second, LEAF),
        ("u2", "u3", first, LEAF),
        ("u3", ACCEPTING, last, LEAF),
    )


def _any_order(first: tuple[str, str], second: tuple[str, str], end: str = ACCEPTING) -> Edges:
    """Two calls in any order, each with the formula under which it is made first."""
    return (
        ("u0", "u1", first[1], first[0]),
        ("u0", "u2", second[1], second[0]),
        ("u1", end, "true", second[0]),
        ("u2", end, "true", first[0]),
    )


def _in_any_colour_order(one: str, other: str) -> Edges:
    """Two calls of WaterWorld: neither is made first for a label that begins both."""
    return _any_order((one, f"!{_COLOURS[other[0]]}"), (other, f"!{_COLOURS[one[0]]}"))


_COLOURS: Final = {"r": "red", "g": "green", "b": "blue", "c": "cyan", "m": "magenta", "y": "yellow"}
"""The colours that the letters of WaterWorld's tasks stand for."""

_CRAFTWORLD: Final[Mapping[str, Edges]] = {
    "batter": _diamond("wheat", "chicken", "table"),
    "bucket": _sequence("iron", "table"),
    "compass": _diamond("iron", "redstone", "workbench"),
    "leather": _sequence("rabbit", "workbench"),
    "paper": _sequence("sugarcane", "workbench"),
    "quill": _diamond("chicken", "squid", "table"),
    "sugar": _sequence("sugarcane", "table"),
    "book": (
        *_any_order(("paper", "true"), ("leather", "!sugarcane"), "u3"),
        ("u3", ACCEPTING, "table", LEAF),
    ),
    "map": (
        *_any_order(("paper", "true"), ("compass", "!sugarcane"), "u3"),
        ("u3", ACCEPTING, "table", LEAF),
    ),
    "milk-bucket": (("u0", "u1", "true", "bucket"), ("u1", ACCEPTING, "cow", LEAF)),
    "book-quill": _any_order(("book", "true"), ("quill", "!sugarcane & !rabbit")),
    "milk-bucket-sugar": _any_order(("milk-bucket", "!sugarcane"), ("sugar", "true")),
    "cake": (
        ("u0", "u1", "true", "batter"),
        ("u1", "u2", "true", "milk-bucket-sugar"),
        ("u2", ACCEPTING, "workbench", LEAF),
    ),
}
_WATERWORLD: Final[Mapping[str, Edges]] = {
    **{name: _sequence(*(_COLOURS[letter] for letter in name)) for name in ("rg", "bc", "my", "rgb", "cmy")},
    **{f"{a}&{b}": _in_any_colour_order(a, b) for a, b in (("rg", "bc"), ("bc", "my"), ("rg", "my"), ("rgb", "cmy"))},
}
_DOMAINS: Final = {"craftworld": _CRAFTWORLD, "waterworld": _WATERWORLD}


def has_published(domain: str, task: str) -> bool:
    """Whether the authors' hierarchy of a task is known."""
    return task in _DOMAINS.get(domain, {})


@cache
def published_hierarchy(domain: str, task: str, dead_end: str | None, propositions: tuple[str, ...]) -> Hierarchy:
    """The authors' hierarchy of a task.

    Args:
        domain: The name of a domain of the paper.
        task: The name of one of its tasks.
        dead_end: The proposition of dead ends, in a setting that has them.
        propositions: All propositions of the setting.
    """
    known = _DOMAINS[domain]
    machines: dict[str, RewardMachine] = {}
    wanted = [task]
    while wanted:
        name = wanted.pop(0)
        if name not in machines:
            machines[name] = _machine(name, known[name], dead_end)
            wanted += [callee for *_, callee in known[name] if callee != LEAF]
    return Hierarchy(task, tuple(machines.values()), propositions)


@cache
def published_flat_machine(domain: str, task: str, dead_end: str | None, propositions: tuple[str, ...]) -> Hierarchy:
    """The authors' flat machine of a task, as a hierarchy of one machine. For arguments see `published_hierarchy`."""
    return minimize(flatten(published_hierarchy(domain, task, dead_end, propositions)))


def _machine(name: str, edges: Edges, dead_end: str | None) -> RewardMachine:
    if dead_end is None:
        return machine(name, [Edge(a, b, parse_formula(formula), callee) for a, b, formula, callee in edges])
    guarded = [Edge(a, b, parse_formula(_guarded(formula, dead_end)), callee) for a, b, formula, callee in edges]
    rejects = [Edge(state, REJECTING, parse_formula(dead_end)) for state in dict.fromkeys(_rejecting_sources(edges))]
    return machine(name, [*guarded, *rejects])


def _guarded(formula: str, dead_end: str) -> str:
    """A call that is made for every label stays so: it is through the machine called that the dead end rejects."""
    return formula if formula == "true" else f"{formula} & !{dead_end}"


def _rejecting_sources(edges: Edges) -> Iterable[str]:
    """States with an edge of their own for the dead end: those that observe, and those whose calls all have a guard."""
    sources = dict.fromkeys(edge[0] for edge in edges)
    for source in sources:
        leaving = [(formula, callee) for a, _, formula, callee in edges if a == source]
        observes = any(callee == LEAF for _, callee in leaving)
        if observes or all(formula != "true" for formula, _ in leaving):
            yield source
