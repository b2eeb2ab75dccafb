"""Is there a root exactly when there is one? Random machines are found again; small spaces are listed and searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import product

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from learning.test_asp import OUTCOMES, explained
from learning.test_determinism_encoding import starts
from rewardmachines.core.formula import Label, conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, Edge, RewardMachine, machine
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.learning.asp import solve
from rewardmachines.learning.task import (
    ContradictoryTracesError,
    LearningTask,
    Options,
    check_traces,
    learning_task,
    state_names,
)
from rewardmachines.traces import Outcome, Trace
from strategies import hierarchies, words

# -- random machines


# Random machines seldom lie in the space that is searched, so most of them are dropped.
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(
    hierarchy=hierarchies(max_height=1),
    seen=st.lists(words.map(tuple), min_size=1, max_size=8),
    prefix_knowledge=st.booleans(),
)
def test_at_its_own_size_a_machine_that_explains_the_traces_is_found(
    hierarchy: Hierarchy, seen: list[tuple[Label, ...]], prefix_knowledge: bool
) -> None:
    source = trimmed(hierarchy[hierarchy.root])
    assume(source is not None)
    assert source is not None
    whole = Hierarchy(source.name, (source,), hierarchy.propositions)
    cut = [until_verdict(whole, word) if prefix_knowledge else word for word in seen]
    traces = [Trace(word, OUTCOMES[verdict(whole, word)]) for word in cut]
    options = Options(
        disjuncts=most_disjuncts(source),
        acyclic=is_acyclic(source),
        negative_formulas=True,
        prefix_knowledge=prefix_knowledge,
    )
    assume(options.disjuncts <= 3 and is_consistent(traces, prefix_knowledge))
    task = learning_task(traces, hierarchy.propositions, options=options)
    assume(task.has_dead_ends or not source.rejecting)
    explained(task, solve(task, len(source.states) - len(source.rejecting)))


def is_consistent(traces: Sequence[Trace], prefix_knowledge: bool) -> bool:
    try:
        check_traces(traces, prefix_knowledge=prefix_knowledge)
    except ContradictoryTracesError:
        return False
    return True


def until_verdict(hierarchy: Hierarchy, word: tuple[Label, ...]) -> tuple[Label, ...]:
    ends = (end for end in range(len(word)) if verdict(hierarchy, word[:end]) is not Verdict.NEITHER)
    return word[: next(ends, len(word))]


def trimmed(source: RewardMachine) -> RewardMachine | None:
    """The part of a flat machine that is in the space: no self-loops, no `true`, all inner states left and entered."""
    ends = {s: "uA" if s in source.accepting else "uR" if s in source.rejecting else s for s in source.states}
    edges = [
        Edge(e.source, ends[e.target], e.formula)
        for e in source.edges
        if e.source != e.target and not e.formula.is_true
    ]
    inner = {s for s in source.states if not source.is_terminal(s)}
    while stray := {s for s in inner if not is_used(s, edges)}:
        inner -= stray
        edges = [e for e in edges if e.source in inner and e.target in {*inner, "uA", "uR"}]
    return machine(source.name, edges, states=("uA",)) if "u0" in inner else None


def is_used(state: str, edges: Sequence[Edge]) -> bool:
    return any(e.source == state for e in edges) and (state == "u0" or any(e.target == state for e in edges))


def most_disjuncts(source: RewardMachine) -> int:
    ends = [(e.source, e.target) for e in source.edges for _ in e.formula.disjuncts]
    return max(map(ends.count, ends))


def is_acyclic(source: RewardMachine) -> bool:
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for edge in source.edges:
        sorter.add(edge.source, edge.target)
    try:
        sorter.prepare()
    except CycleError:
        return False
    return True


# -- small spaces

LABELS = (frozenset[str](), frozenset({"a"}))
CALLEE = machine("m1", [("u0", "u1", "a"), ("u1", "uA", "!a"), ("u1", "uR", "a")])
traces = st.builds(Trace, st.lists(st.sampled_from(LABELS), max_size=5).map(tuple), st.sampled_from(Outcome))


@settings(deadline=None, max_examples=40)
@given(
    traces=st.lists(traces, min_size=1, max_size=5),
    prefix_knowledge=st.booleans(),
    negative_formulas=st.booleans(),
    acyclic=st.booleans(),
    inner=st.integers(1, 2),
)
def test_a_root_is_found_if_and_only_if_there_is_one_and_it_is_the_smallest(
    traces: list[Trace], prefix_knowledge: bool, negative_formulas: bool, acyclic: bool, inner: int
) -> None:
    assume(is_consistent(traces, prefix_knowledge))
    options = Options(1, acyclic, negative_formulas, prefix_knowledge)
    task = learning_task(traces, ["a"], [CALLEE], options=options)
    listed = [root for root in every_root(inner, task.has_dead_ends, acyclic) if fits(task, root)]
    found = solve(task, inner + 1)
    assert (found is None) is (not listed)
    if found is not None:
        explained(task, found)
        smallest = solve(task, inner + 1, minimize=True)
        assert smallest is not None
        assert size(explained(task, smallest)) == min(map(size, listed))


def fits(task: LearningTask, root: RewardMachine) -> bool:
    leaf_edges = [e for e in root.edges if e.calls_leaf]
    if not task.options.negative_formulas and any("!" in str(e.formula) for e in leaf_edges):
        return False
    whole = task.hierarchy(root)
    ends = [t.labels[:end] for t in task.traces for end in range(len(t)) if task.options.prefix_knowledge]
    return task.unexplained(whole) is None and all(verdict(whole, word) is Verdict.NEITHER for word in ends)


def size(root: RewardMachine) -> tuple[int, int]:
    """Edges and literals; there is one disjunct to an edge here."""
    return len(root.edges), sum(len(e.formula.propositions) for e in root.edges)


@cache
def every_root(inner: int, rejecting: bool, acyclic: bool) -> tuple[RewardMachine, ...]:
    """All roots over the proposition a that may call m1, one edge between two states, well formed and deterministic."""
    return tuple(root for root in _roots(inner, rejecting, acyclic) if _is_deterministic(root))


def _roots(inner: int, rejecting: bool, acyclic: bool) -> Iterator[RewardMachine]:
    states = state_names(inner, rejecting=rejecting)
    pairs = [(s, t) for s in states[:inner] for t in states if s != t]
    literals = [conjunction({"a"}), conjunction((), {"a"})]
    calls = [(LEAF, f) for f in literals] + [("m1", f) for f in (*literals, conjunction())]
    for chosen in product([None, *calls], repeat=len(pairs)):
        edges = [Edge(*ends, call[1], call[0]) for ends, call in zip(pairs, chosen, strict=True) if call]
        if all(is_used(state, edges) for state in states[:inner]):
            root = RewardMachine("root", states, tuple(edges), rejecting=frozenset({"uR"} & set(states)))
            if not acyclic or is_acyclic(root):
                yield root


def _is_deterministic(root: RewardMachine) -> bool:
    whole = Hierarchy("root", (root, CALLEE), ("a",))
    return all(
        sum(starts(whole, edge, label) for edge in root.outgoing(state)) <= 1
        for state in root.states
        for label in LABELS
    )
