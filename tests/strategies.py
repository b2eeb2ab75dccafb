"""Random labels, formulas, machines and hierarchies for property tests.

A machine is drawn state by state. A decision tree over the propositions splits the labels, and each of its leaves is
given a way out of the state, or none: what comes out is deterministic and says much. A few edges with arbitrary
formulas come on top. Whether one would clash is found by trying all eight labels, independently of the code under test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, combinations, product
from typing import Final, NamedTuple, TypeAlias

from hypothesis import strategies as st

from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, Edge, RewardMachine

IS_THOROUGH: Final = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""Whether this is a long hunt, in which tests may take long."""
PROPOSITIONS = ("a", "b", "c")
ALL_LABELS: tuple[Label, ...] = tuple(
    frozenset(some) for some in chain.from_iterable(combinations(PROPOSITIONS, n) for n in range(len(PROPOSITIONS) + 1))
)
Labels: TypeAlias = frozenset[Label]
EVERY: Labels = frozenset(ALL_LABELS)

labels = st.sampled_from(ALL_LABELS)
words = st.lists(labels, max_size=12)


def _conjunctions(propositions: tuple[str, ...]) -> list[Conjunction]:
    """All there are, those with few literals first."""
    found = [
        Conjunction(
            frozenset(p for p, sign in zip(propositions, signs, strict=True) if sign > 0),
            frozenset(p for p, sign in zip(propositions, signs, strict=True) if sign < 0),
        )
        for signs in product((0, 1, -1), repeat=len(propositions))
    ]
    return sorted(found, key=lambda c: len(c.propositions))


LABELS_OF: dict[Conjunction, Labels] = {
    c: frozenset(label for label in ALL_LABELS if c.holds(label)) for c in _conjunctions(PROPOSITIONS)
}


def conjunctions(propositions: tuple[str, ...] = PROPOSITIONS) -> st.SearchStrategy[Conjunction]:
    return st.sampled_from(_conjunctions(propositions))


def formulas(
    propositions: tuple[str, ...] = PROPOSITIONS, *, min_size: int = 1, max_size: int = 3
) -> st.SearchStrategy[Formula]:
    disjuncts = st.frozensets(conjunctions(propositions), min_size=min_size, max_size=max_size)
    return disjuncts.map(Formula)


# -- decision trees

Tree: TypeAlias = tuple[Conjunction, ...]
"""The paths to the leaves of a decision tree: every label satisfies exactly one of them."""


def _trees(path: Conjunction) -> Iterator[Tree]:
    yield (path,)
    for p in PROPOSITIONS:
        if p not in path.propositions:
            without = list(_trees(Conjunction(path.required, path.forbidden | {p})))
            for leaves in _trees(Conjunction(path.required | {p}, path.forbidden)):
                yield from ((*others, *leaves) for others in without)


TREES: tuple[Tree, ...] = tuple(sorted({frozenset(tree): tree for tree in _trees(Conjunction())}.values(), key=len))
"""Every way to split the labels by asking for one proposition after the other."""
SMALL_TREES = tuple(tree for tree in TREES if len(tree) <= 2)
"""Those with paths that many disjuncts imply."""


class Writing(Enum):
    """How the labels of a guard become a formula."""

    EXACT = "as the paths of the decision tree"
    SHORT = "with as few literals as the callee's own demands allow, disjuncts overlapping"
    FULL = "with every disjunct that could stand there, up to 27"


class Callee(NamedTuple):
    """A machine that can be called: the labels on which it starts, and those of them on which it clashes."""

    name: str
    starting: Labels
    clashing: Labels = frozenset()


def _guard(paths: Sequence[Conjunction], callee: Callee, writing: Writing) -> Formula:
    """True on the paths as far as the callee starts without a clash; beyond, only where the callee does not start."""
    wanted = frozenset[Label]().union(*(LABELS_OF[path] for path in paths)) - callee.clashing
    allowed = wanted | (EVERY - callee.starting)
    exact = [
        part
        for path in paths
        for part in ([path] if LABELS_OF[path] <= allowed else [_exactly(x) for x in LABELS_OF[path] & wanted])
    ]
    if writing is Writing.EXACT:
        return Formula(frozenset(exact))
    inside = [c for c, satisfying in LABELS_OF.items() if satisfying <= allowed and satisfying & wanted]
    if writing is Writing.FULL:
        return Formula(frozenset(inside))
    return Formula(frozenset(next(c for c in inside if c.subsumes(part)) for part in exact))


def _exactly(label: Label) -> Conjunction:
    return Conjunction(label, frozenset(PROPOSITIONS) - label)


# -- machines and hierarchies

# Made once: hypothesis takes long to look at a strategy for the first time.
_TREE, _SMALL_TREE, _FORMULA = st.sampled_from(TREES), st.sampled_from(SMALL_TREES), formulas()

MAX_EDGES = 8
"""Out of one state: tests of compiled code draw many hierarchies and have tables of one shape for all of them."""


@st.composite
def hierarchies(
    draw: st.DrawFn,
    *,
    max_height: int = 4,
    deterministic: bool = True,
    contextual: bool = False,
    many_disjuncts: bool = False,
) -> Hierarchy:
    """Cycles, self-loops, dead ends, deep calls, several accepting and rejecting states; the root is called m<n>.

    The initial state may stand anywhere among the states, and the root anywhere among the machines.

    Args:
        draw: Given by hypothesis.
        max_height: How many machines there are at most, and so how deep calls can be.
        deterministic: Whether no trace makes two calls start. Otherwise some trace may.
        contextual: Whether a callee may be deterministic only thanks to the contexts of its calls. Alone, it is not.
        many_disjuncts: Whether one machine has formulas of as many disjuncts as possible, up to 27 on an edge.
    """
    # High ones are drawn a little more often than low ones.
    lowest = 2 if contextual or many_disjuncts else 1
    count = draw(st.sampled_from([*range(lowest, max_height + 1), max_height]))
    wordy = draw(st.integers(1, count - 1)) if many_disjuncts else -1
    machines: list[RewardMachine] = []
    callees = [Callee(LEAF, EVERY)]
    for index in range(count):
        writing = Writing.FULL if index == wordy else Writing.SHORT if draw(st.booleans()) else Writing.EXACT
        is_tamed = contextual and index < count - 1 and draw(st.booleans())
        machine = draw(_machines(f"m{index}", tuple(callees), _Style(writing, deterministic, is_tamed)))
        machines.append(machine)
        callees.append(_as_callee(machine, callees) if deterministic else _unchecked(machine, callees))
    ordered = machines[::-1] if draw(st.booleans()) else machines
    return Hierarchy(machines[-1].name, tuple(ordered), PROPOSITIONS)


@dataclass(frozen=True)
class _Style:
    writing: Writing
    deterministic: bool
    is_tamed: bool
    """Whether its initial state may clash, and the contexts of calls are left to prevent it."""


@st.composite
def _machines(draw: st.DrawFn, name: str, callees: tuple[Callee, ...], style: _Style) -> RewardMachine:
    count, first = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    inner = [f"u{(first + i) % count}" for i in range(count)]
    accepting = [f"A{i}" for i in range(draw(st.integers(1, 2)))]
    rejecting = [f"R{i}" for i in range(draw(st.integers(0, 2)))]
    states = draw(st.permutations([*inner, *accepting, *rejecting]))
    # A tamed machine never comes back to its initial state, where no context would protect it the second time.
    targets = [state for state in states if state != inner[0]] if style.is_tamed else states
    has_trees = draw(st.integers(0, 5)) < 5
    has_dead_end = draw(st.integers(0, 2)) == 2
    edges: list[Edge] = []
    for i, source in enumerate(inner if has_trees else ()):
        following = [*inner, accepting[0]][i + 1]
        # Two trees for one state clash, unless by chance.
        trees = 2 if style.is_tamed and i == 0 else int(i == 0 or following != accepting[0] or not has_dead_end)
        for _ in range(trees):
            edges += draw(_edges_of_tree(source, [following, following, *targets], callees, style.writing))
    called = st.sampled_from((*(c.name for c in callees), callees[-1].name))
    for _ in range(draw(st.integers(0, 2 if has_trees else 6))):
        edge = Edge(draw(st.sampled_from(inner)), draw(st.sampled_from(targets)), draw(_FORMULA), draw(called))
        may_clash = not style.deterministic or (style.is_tamed and edge.source == inner[0])
        has_room = sum(e.source == edge.source for e in edges) < MAX_EDGES
        if has_room and (may_clash or _is_compatible(edge, edges, callees)):
            edges.append(edge)
    return RewardMachine(name, tuple(states), tuple(edges), inner[0], frozenset(accepting), frozenset(rejecting))


@st.composite
def _edges_of_tree(
    draw: st.DrawFn, source: str, targets: Sequence[str], callees: tuple[Callee, ...], writing: Writing
) -> list[Edge]:
    """The ways out of a state, one or none for each leaf of a tree; `targets` are drawn as often as they are listed."""
    paths: dict[tuple[str, Callee], list[Conjunction]] = {}
    for path in draw(_SMALL_TREE if writing is Writing.FULL else _TREE):
        live = [c for c in callees if LABELS_OF[path] & c.starting - c.clashing]
        # The machine before this one is called more often than not, so that hierarchies are high.
        number = draw(st.integers(0, 5 * len(targets) * (len(live) + 1) // 4))
        ways = list(product(targets, [live[-1], *live]))
        if number < len(ways):
            paths.setdefault(ways[number], []).append(path)
    return [Edge(source, target, _guard(some, c, writing), c.name) for (target, c), some in paths.items()]


def _is_compatible(edge: Edge, edges: Sequence[Edge], callees: Sequence[Callee]) -> bool:
    """Whether no label starts the edge together with another, nor its callee where that clashes."""
    known = {c.name: c for c in callees}
    own = _starting(edge, known)
    others = [e for e in edges if e.source == edge.source and (e.target, e.callee) != (edge.target, edge.callee)]
    return own.isdisjoint(known[edge.callee].clashing) and all(own.isdisjoint(_starting(e, known)) for e in others)


def _as_callee(machine: RewardMachine, callees: Sequence[Callee]) -> Callee:
    known = {c.name: c for c in callees}
    starting, clashing = frozenset[Label](), frozenset[Label]()
    for edge in machine.outgoing(machine.initial):
        own = _starting(edge, known)
        clashing |= (starting & own) | (own & known[edge.callee].clashing)
        starting |= own
    return Callee(machine.name, starting, clashing)


def _unchecked(machine: RewardMachine, callees: Sequence[Callee]) -> Callee:
    return _as_callee(machine, callees)._replace(clashing=frozenset())


def _starting(edge: Edge, callees: dict[str, Callee]) -> Labels:
    return frozenset(label for label in callees[edge.callee].starting if edge.formula.holds(label))


def contextual_hierarchies(*, max_height: int = 4) -> st.SearchStrategy[Hierarchy]:
    """Deterministic ones with callees that only the contexts of their calls make so."""
    return hierarchies(max_height=max_height, contextual=True)
