"""Minimizing hierarchies with callees that only the contexts of their calls make deterministic."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.brute_force import shortest_difference
from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import ACCEPTING, LEAF, REJECTING, Edge, RewardMachine, machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.sizes import size
from strategies import ALL_LABELS, PROPOSITIONS, contextual_hierarchies

label_choices = st.sets(st.sampled_from(ALL_LABELS), min_size=1) | st.none()


def test_a_callee_gives_up_the_labels_that_its_contexts_keep_away() -> None:
    callee = machine("m1", [("u0", "uA", "a"), ("u0", "u1", "b")])
    tree = hierarchy(machine("m0", [("u0", "uA", "!a | !b", "m1")]), callee)
    assert check_determinism(tree) == []
    result = minimize(tree)
    assert equivalent(result, tree)
    assert {str(e) for e in result["m1"].edges} == {"u0 --[a & !b]--> uA", "u0 --[b & !a]--> u1"}
    assert [str(e) for e in result["m0"].edges] == ["u0 --[m1 | true]--> uA"]


def test_a_context_reaches_through_a_call_to_the_callee_of_the_callee() -> None:
    inner = machine("m2", [("u0", "uA", "a"), ("u0", "u1", "b"), ("u1", "uA", "c")])
    middle = machine("m1", [("u0", "uA", "c", "m2")])
    tree = hierarchy(machine("m0", [("u0", "uA", "!a | !b", "m1")]), middle, inner)
    result = minimize(tree)
    assert (
        shortest_difference(tree, result, [frozenset(x) for x in ("", "a", "b", "c", "ab", "ac", "bc", "abc")]) is None
    )
    assert minimize(result) == result


def test_states_behind_labels_that_contexts_keep_away_may_clash_and_are_dropped() -> None:
    callee = machine(
        "n", [("u0", "u1", "a"), ("u0", "uA", "b & !a"), ("u1", "uA", "b"), ("u1", "u2", "c"), ("u2", "uA", "a")]
    )
    result = minimize(hierarchy(machine("m", [("u0", "uA", "!a", "n")]), callee))
    assert [str(e) for e in result["n"].edges] == ["u0 --[b & !a]--> uA"]


def test_machines_that_need_no_context_are_kept_whole_beside_one_that_does() -> None:
    tame = machine("tame", [("u0", "u1", "a"), ("u0", "uA", "b & !a"), ("u1", "uA", "c")])
    wild = machine("wild", [("u0", "u1", "a"), ("u0", "uA", "b"), ("u1", "uA", "b")])
    root = machine("m", [("u0", "u1", "!a", "tame"), ("u1", "uA", "!a", "wild")])
    result = minimize(hierarchy(root, tame, wild))
    assert equivalent(result.rooted("tame"), hierarchy(tame))


@pytest.mark.parametrize("propositions", [("a", "b"), ("a", "b", "c")])
def test_no_callee_is_left_that_needs_a_context(propositions: tuple[str, ...]) -> None:
    edges = [("u0", f"u{i}", p) for i, p in enumerate(propositions, start=1)]
    edges += [(f"u{i}", "uA", p) for i, p in enumerate(propositions, start=1)]
    only_one = " | ".join(f"({' & '.join([p, *(f'!{q}' for q in propositions if q != p)])})" for p in propositions)
    tree = hierarchy(machine("m", [("u0", "uA", only_one, "n")]), machine("n", edges))
    result = minimize(tree)
    assert equivalent(result, tree)
    assert check_determinism(result.rooted("n")) == []
    assert len(result["n"].states) == len(propositions) + 2


@st.composite
def _wild_machines(draw: st.DrawFn, name: str, callees: tuple[str, ...]) -> RewardMachine:
    """Any state may clash, and the initial one may be returned to: whether a context can help is left to chance."""
    inner = [f"u{i}" for i in range(draw(st.integers(1, 3)))]
    signs = st.lists(st.sampled_from((-1, 0, 1)), min_size=3, max_size=3)

    def formula() -> Formula:
        disjuncts = []
        for drawn in draw(st.lists(signs, min_size=1, max_size=2)):
            literals = list(zip(PROPOSITIONS, drawn, strict=True))
            required = frozenset(p for p, sign in literals if sign > 0)
            disjuncts.append(Conjunction(required, frozenset(p for p, sign in literals if sign < 0)))
        return Formula(frozenset(disjuncts))

    edges = [
        Edge(
            draw(st.sampled_from(["u0", *inner])),
            draw(st.sampled_from([*inner, ACCEPTING, ACCEPTING, REJECTING])),
            formula(),
            draw(st.sampled_from(callees)),
        )
        for _ in range(draw(st.integers(1, 6)))
    ]
    states = (*inner, ACCEPTING, REJECTING)
    return RewardMachine(name, states, tuple(edges), "u0", rejecting=frozenset({REJECTING}))


@st.composite
def _wild_hierarchies(draw: st.DrawFn) -> Hierarchy:
    machines: list[RewardMachine] = []
    for index in range(draw(st.integers(2, 3))):
        callees = (LEAF, *(m.name for m in machines), *(m.name for m in machines[-1:]))
        machines.append(draw(_wild_machines(f"m{index}", callees)))
    return Hierarchy(machines[-1].name, tuple(machines), PROPOSITIONS)


def _check_minimal(tree: Hierarchy, labels: set[Label] | None) -> None:
    result = minimize(tree, labels)
    allowed = sorted(ALL_LABELS if labels is None else labels, key=sorted)
    assert shortest_difference(tree, result, allowed) is None
    assert equivalent(tree, result, labels=labels)
    assert minimize(result, labels) == result
    assert size(result).states <= size(tree).states + 2 * len(tree), "at most terminal states are added"
    for name in (m.name for m in result):
        assert check_determinism(result.rooted(name)) == []
        if not check_determinism(tree.rooted(name), labels):
            assert equivalent(tree.rooted(name), result.rooted(name), labels=labels)


@given(contextual_hierarchies(), label_choices)
def test_minimizing_keeps_what_calls_can_see_of_a_callee(tree: Hierarchy, labels: set[Label] | None) -> None:
    _check_minimal(tree, labels)


@given(_wild_hierarchies(), label_choices)
def test_minimizing_is_right_wherever_contexts_are_enough(tree: Hierarchy, labels: set[Label] | None) -> None:
    assume(not check_determinism(tree))
    _check_minimal(tree, labels)
