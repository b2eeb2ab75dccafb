"""Random hierarchies in which agents find something to do, and labels that they have seen."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, Edge, RewardMachine
from strategies import ALL_LABELS, PROPOSITIONS, formulas


@st.composite
def runnable_hierarchies(draw: st.DrawFn, *, deep: bool = False) -> Hierarchy:
    """Deterministic ones in which options abound: in each machine a chain of edges leads to acceptance.

    In deep ones most machines call another, and calls last for more than one label.
    """
    machines: list[RewardMachine] = []
    starting = {LEAF: frozenset(ALL_LABELS)}
    for index in range(draw(st.integers(3 if deep else 1, 4))):
        inner = [f"u{i}" for i in range(draw(st.integers(2 if deep else 1, 3)))]
        callees = st.sampled_from([*starting, *[list(starting)[-1]] * (4 if deep else 1)])
        extra = st.builds(Edge, st.sampled_from(inner), st.sampled_from([*inner, "A", "R"]), formulas(), callees)
        chain = [draw(st.builds(Edge, st.just(u), st.just(v), formulas(), callees)) for u, v in pairwise([*inner, "A"])]
        edges: list[Edge] = []
        for edge in [*chain, *draw(st.lists(extra, max_size=5))]:
            rivals = [
                e for e in edges if e.source == edge.source and (e.target, e.callee) != (edge.target, edge.callee)
            ]
            if starts([edge], starting) and starts([edge], starting).isdisjoint(starts(rivals, starting)):
                edges.append(edge)
        states = (*inner, "A", "R")
        machines.append(RewardMachine(f"m{index}", states, tuple(edges), "u0", frozenset("A"), frozenset("R")))
        starting[f"m{index}"] = starts([e for e in edges if e.source == "u0"], starting)
    return Hierarchy(machines[-1].name, tuple(machines), PROPOSITIONS)


def starts(edges: list[Edge], starting: dict[str, frozenset[Label]]) -> frozenset[Label]:
    """The labels on which one of the edges starts."""
    return frozenset(label for edge in edges for label in starting[edge.callee] if edge.formula.holds(label))


seen_labels = st.just(frozenset(ALL_LABELS)) | st.frozensets(st.sampled_from(ALL_LABELS))
