"""Random labels, formulas, deterministic machines and hierarchies for property tests."""

from __future__ import annotations

from itertools import chain, combinations

from hypothesis import strategies as st

from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, Edge, RewardMachine

PROPOSITIONS = ("a", "b", "c")
ALL_LABELS: tuple[Label, ...] = tuple(
    frozenset(some) for some in chain.from_iterable(combinations(PROPOSITIONS, n) for n in range(len(PROPOSITIONS) + 1))
)

labels = st.sampled_from(ALL_LABELS)
words = st.lists(labels, max_size=12)


@st.composite
def conjunctions(draw: st.DrawFn, propositions: tuple[str, ...] = PROPOSITIONS) -> Conjunction:
    signs = draw(st.lists(st.sampled_from((-1, 0, 1)), min_size=len(propositions), max_size=len(propositions)))
    return Conjunction(
        frozenset(p for p, sign in zip(propositions, signs, strict=True) if sign > 0),
        frozenset(p for p, sign in zip(propositions, signs, strict=True) if sign < 0),
    )


def formulas(
    propositions: tuple[str, ...] = PROPOSITIONS, *, min_size: int = 1, max_size: int = 3
) -> st.SearchStrategy[Formula]:
    disjuncts = st.frozensets(conjunctions(propositions), min_size=min_size, max_size=max_size)
    return disjuncts.map(Formula)


@st.composite
def hierarchies(draw: st.DrawFn, *, max_height: int = 4, deterministic: bool = True) -> Hierarchy:
    """Cycles, self-loops, several disjuncts, several accepting and rejecting states; the root is called m<n>.

    Deterministic ones come from dropping edges that start on a label on which an earlier one starts: brute force over
    the eight labels, independent of the code under test.
    """
    machines: list[RewardMachine] = []
    starting: dict[str, frozenset[Label]] = {LEAF: frozenset(ALL_LABELS)}
    count = draw(st.integers(1, max_height))
    for index in range(count):
        machine = draw(_machines(f"m{index}", starting, deterministic=deterministic))
        machines.append(machine)
        starting[machine.name] = _starting(machine.outgoing(machine.initial), starting)
    return Hierarchy(machines[-1].name, tuple(machines), PROPOSITIONS)


@st.composite
def _machines(
    draw: st.DrawFn, name: str, starting: dict[str, frozenset[Label]], *, deterministic: bool
) -> RewardMachine:
    inner = [f"u{i}" for i in range(draw(st.integers(1, 4)))]
    accepting = [f"A{i}" for i in range(draw(st.integers(1, 2)))]
    rejecting = [f"R{i}" for i in range(draw(st.integers(0, 2)))]
    states = [*inner, *accepting, *rejecting]
    # The machine before this one is called more often than not, so that hierarchies are high.
    callees = st.one_of(st.sampled_from(list(starting)), st.just(list(starting)[-1]))
    candidates = st.builds(Edge, st.sampled_from(inner), st.sampled_from(states), formulas(), callees)
    edges: list[Edge] = []
    for edge in draw(st.lists(candidates, max_size=8)):
        others = [e for e in edges if e.source == edge.source and (e.target, e.callee) != (edge.target, edge.callee)]
        if not deterministic or _starting([edge], starting).isdisjoint(_starting(others, starting)):
            edges.append(edge)
    return RewardMachine(name, tuple(states), tuple(edges), "u0", frozenset(accepting), frozenset(rejecting))


def _starting(edges: list[Edge] | tuple[Edge, ...], starting: dict[str, frozenset[Label]]) -> frozenset[Label]:
    return frozenset(label for edge in edges for label in starting[edge.callee] if edge.formula.holds(label))
