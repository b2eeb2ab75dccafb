"""Hierarchies are compared in a time that depends on how they are written, not on how large they would be flat."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given

from core.brute_force import shortest_difference
from rewardmachines.core import pair_search
from rewardmachines.core.equivalence import difference, equivalent, interchangeable
from rewardmachines.core.errors import NondeterminismError, TooLargeError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.traversal import verdict
from rewardmachines.library import exponential_family
from strategies import ALL_LABELS, contextual_hierarchies


@pytest.mark.parametrize("height", [20, 22, 60])
def test_the_exponential_family_is_compared_in_little_time_and_memory(height: int) -> None:
    tracemalloc.start()
    began = time.perf_counter()
    assert equivalent(exponential_family(height), exponential_family(height))
    assert interchangeable(exponential_family(height), _renamed(exponential_family(height)))
    seconds = time.perf_counter() - began
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 10
    assert most < 64_000_000


def test_the_highest_hierarchies_are_compared() -> None:
    assert equivalent(exponential_family(200), _renamed(exponential_family(200)))
    assert not equivalent(exponential_family(199), exponential_family(200))


def test_equal_callees_under_other_names_and_with_other_states_are_recognized() -> None:
    tree = exponential_family(40)
    assert equivalent(tree, _renamed(tree))
    assert equivalent(tree, minimize(_renamed(tree)))


def test_calls_that_were_written_out_are_recognized() -> None:
    tree = exponential_family(60)
    inlined = machine("M2", [("u0", "u1", "a"), ("u1", "u2", "b"), ("u2", "u3", "a"), ("u3", "uA", "b")])
    machines = tuple(inlined if m.name == "M2" else m for m in tree.machines if m.name != "M1")
    assert equivalent(tree, Hierarchy(tree.root, machines, tree.propositions))


def test_a_difference_at_the_end_of_a_long_trace_is_found() -> None:
    one, other = exponential_family(11), _changed_at_the_end(exponential_family(11))
    word = difference(one, other)
    assert word is not None
    assert len(word) == 2**11
    assert verdict(one, word) is not verdict(other, word)
    assert verdict(one, word[:-1]) is verdict(other, word[:-1])


def test_a_trace_that_is_too_long_to_write_down_is_counted() -> None:
    one, other = exponential_family(40), _changed_at_the_end(exponential_family(40))
    assert not equivalent(one, other)
    with pytest.raises(
        TooLargeError, match=r"they are different, but the shortest trace .* has 1,099,511,627,776 labels"
    ):
        difference(one, other)


def test_a_comparison_that_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = exponential_family(12)
    flat = flatten(tree)
    assert equivalent(tree, flat)
    monkeypatch.setattr(pair_search, "MAX_PAIRS", 1_000)
    with pytest.raises(TooLargeError, match="no difference among the first 1,000 pairs"):
        equivalent(tree, flat)


def test_conflicts_inside_calls_that_are_alike_are_found_all_the_same() -> None:
    callee = machine("n", [("u0", "u1", "a"), ("u1", "uA", "a"), ("u1", "u2", "b")])
    tree = hierarchy(machine("m", [("u0", "uA", "true", "n")]), callee)
    with pytest.raises(NondeterminismError, match=r"\{a, b\} starts both"):
        equivalent(tree, tree)


def test_a_clash_on_labels_that_cannot_occur_is_none() -> None:
    tree = hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "u1", "b")]))
    assert equivalent(tree, tree, labels="!a | !b")


@given(contextual_hierarchies(), contextual_hierarchies())
def test_callees_that_need_their_contexts_are_compared_exactly(a: Hierarchy, b: Hierarchy) -> None:
    for other in (b, minimize(a)):
        word, expected = difference(a, other), shortest_difference(a, other, ALL_LABELS)
        assert (word is None) == (expected is None)
        if word is not None and expected is not None:
            assert len(word) == len(expected)
            assert verdict(a, word) is not verdict(other, word)


def _renamed(tree: Hierarchy) -> Hierarchy:
    """Other names for machines and states."""
    machines = []
    for old in tree.machines:
        rows = [(f"q{e.source}", f"q{e.target}", str(e.formula), f"x{e.callee}") for e in old.edges if not e.calls_leaf]
        leaves = [(f"q{e.source}", f"q{e.target}", str(e.formula)) for e in old.edges if e.calls_leaf]
        accepting = [f"q{state}" for state in old.accepting]
        machines.append(machine(f"x{old.name}", [*rows, *leaves], initial=f"q{old.initial}", accepting=accepting))
    return Hierarchy(f"x{tree.root}", tuple(machines), tree.propositions)


def _changed_at_the_end(tree: Hierarchy) -> Hierarchy:
    """The root rejects where it accepted."""
    root = tree[tree.root]
    states = (*root.states, "never")
    changed = replace(root, states=states, accepting=frozenset({"never"}), rejecting=root.accepting)
    return Hierarchy(tree.root, tuple(changed if m is root else m for m in tree.machines), tree.propositions)
