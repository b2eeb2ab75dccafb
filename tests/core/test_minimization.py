from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.brute_force import classes, shortest_difference
from paper import drawn, recorded, recorded_hierarchy
from rewardmachines.core.equivalence import equivalent, interchangeable
from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.labelsets import LabelSets
from rewardmachines.core.machine import machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.sizes import Size, size
from rewardmachines.core.traversal import initial_state, traverse, verdict_of
from rewardmachines.library import exponential_family
from strategies import ALL_LABELS, IS_THOROUGH, PROPOSITIONS, hierarchies, words

FEW_STATES: Final = 20
"""States of which all pairs are compared. With more, the pairs take most of a minute unless this is a long hunt."""


@pytest.mark.parametrize(
    ("task", "states"),
    [
        ("book", 8),
        ("map", 12),
        ("milk-bucket", 4),
        ("milk-bucket-and-sugar", 10),
        ("book-and-quill", 21),
        ("cake", 15),
        ("rg&bc", 8),
        ("rgb&cmy", 12),
    ],
)
@pytest.mark.parametrize("dead_ends", [False, True])
def test_flat_tasks_reach_their_minimal_sizes(task: str, states: int, dead_ends: bool) -> None:
    entries = [e for e in recorded("traversal.json.gz") if (e["task"], e["dead_ends"]) == (task, dead_ends)]
    assert len(entries) == 2
    smallest = [minimize(flatten(recorded_hierarchy(entry))) for entry in entries]
    assert [size(s).states for s in smallest] == [states + dead_ends] * 2


def test_the_exponential_family_cannot_be_made_smaller_flat() -> None:
    assert size(minimize(flatten(exponential_family(8)))) == Size(257, 256)


def test_a_long_chain_is_minimized_quickly() -> None:
    flat = flatten(exponential_family(11))
    assert size(minimize(flat)) == Size(2049, 2048)


def test_equivalent_machines_come_out_the_same() -> None:
    one = hierarchy(machine("m", [("u0", "x", "a"), ("x", "y", "b"), ("y", "uA", "c | (c & a)")]))
    other = hierarchy(
        machine("m", [("u0", "p", "(a & b) | (a & !b)"), ("p", "q", "b"), ("p", "p", "!b"), ("q", "uA", "c")])
    )
    assert minimize(one) == minimize(other)


def test_the_result_says_no_more_than_it_must() -> None:
    wordy = hierarchy(
        machine(
            "m",
            [
                ("u0", "u1", "(a & b) | (a & !b)"),
                ("u1", "u2", "b"),
                ("u1", "u3", "c & !b"),
                ("u2", "uA", "a"),
                ("u3", "uA", "a"),
                ("u9", "uA", "a"),
            ],
        )
    )
    result = minimize(wordy)["m"]
    assert [str(e) for e in result.edges] == ["u0 --[a]--> u1", "u1 --[b | c]--> u2", "u2 --[a]--> uA"]


def test_labels_that_cannot_occur_make_guards_shorter_but_never_ambiguous() -> None:
    book = minimize(drawn("craftworld_book_flat"), labels=[[], ["sugarcane"], ["rabbit"], ["workbench"], ["table"]])
    first = {str(e.formula) for e in book["M"].outgoing("u0")}
    assert first in ({"rabbit", "sugarcane & !rabbit"}, {"sugarcane", "rabbit & !sugarcane"})
    assert check_determinism(book) == []


def test_contexts_do_not_repeat_what_the_callee_demands() -> None:
    callee = machine("n", [("u0", "u1", "a"), ("u1", "uA", "b")])
    root = machine("m", [("u0", "uA", "a & !b", "n")])
    result = minimize(hierarchy(root, callee))
    assert str(result["m"].edges[0].formula) == "!b"


def test_callees_that_do_the_same_become_one() -> None:
    one = machine("one", [("u0", "u1", "a"), ("u1", "uA", "b")])
    two = machine(
        "two",
        [("u0", "x", "a"), ("x", "uA", "b & a"), ("x", "y", "b & !a"), ("x", "x", "c & !b"), ("y", "uA", "a & !a | c")],
    )
    same = machine("same", [("u0", "p", "a"), ("p", "uA", "b | (b & c)")])
    root = machine("m", [("u0", "u1", "true", "one"), ("u1", "u2", "true", "same"), ("u2", "uA", "true", "two")])
    result = minimize(hierarchy(root, one, two, same))
    assert [m.name for m in result] == ["m", "one", "two"]
    assert equivalent(result, hierarchy(root, one, two, same))


def test_a_callee_that_holds_up_its_caller_is_not_one_that_does_not() -> None:
    plain = machine("plain", [("u0", "uA", "a")])
    loops = machine("loops", [("u0", "uA", "a"), ("u0", "u0", "b & !a")])
    assert equivalent(hierarchy(plain), hierarchy(loops))
    assert not interchangeable(hierarchy(plain), hierarchy(loops))
    root = machine(
        "m", [("u0", "u1", "!c", "plain"), ("u1", "u2", "!c", "loops"), ("u1", "uA", "c"), ("u2", "uA", "c")]
    )
    tree = hierarchy(root, plain, loops)
    assert equivalent(minimize(tree), tree)
    assert len(minimize(tree)) == 3


def test_a_nondeterministic_hierarchy_is_not_minimized() -> None:
    with pytest.raises(NondeterminismError, match="starts both"):
        minimize(hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "u1", "b")])))


def test_a_callee_that_only_its_contexts_make_deterministic_is_minimized_too() -> None:
    callee = machine("n", [("u0", "u1", "a"), ("u0", "u2", "b"), ("u1", "uA", "c"), ("u2", "uA", "c")])
    tree = hierarchy(machine("m", [("u0", "uA", "!a", "n")]), callee)
    assert equivalent(minimize(tree), tree)


@given(hierarchies(), words)
def test_minimizing_preserves_the_verdict_of_every_prefix(tree: Hierarchy, word: list[Label]) -> None:
    for original in (tree, flatten(tree)):
        smaller = minimize(original)
        for a, b in zip(traverse(original, word), traverse(smaller, word), strict=True):
            assert verdict_of(original, a) is verdict_of(smaller, b)


@given(hierarchies())
def test_minimizing_preserves_every_verdict_and_never_adds(tree: Hierarchy) -> None:
    smaller = minimize(tree)
    assert shortest_difference(tree, smaller, ALL_LABELS) is None
    assert size(smaller).states <= size(tree).states + 2 * len(tree), "at most terminal states are added"
    assert check_determinism(smaller) == []
    for name in (m.name for m in smaller):
        assert equivalent(tree.rooted(name), smaller.rooted(name))


@given(hierarchies(), st.sets(st.sampled_from(ALL_LABELS), min_size=1) | st.none())
def test_minimizing_twice_is_minimizing_once(tree: Hierarchy, labels: set[Label] | None) -> None:
    for original in (tree, flatten(tree)):
        once = minimize(original, labels=labels)
        assert minimize(once, labels=labels) == once


@given(hierarchies(), st.sets(st.sampled_from(ALL_LABELS), min_size=1))
def test_over_some_labels_verdicts_are_kept_on_these_and_determinism_on_all(
    tree: Hierarchy, labels: set[Label]
) -> None:
    allowed = sorted(labels, key=sorted)
    smaller = minimize(tree, labels=labels)
    assert shortest_difference(tree, smaller, allowed) is None
    assert check_determinism(smaller) == []


@given(hierarchies(), hierarchies())
def test_flat_minimal_machines_are_canonical(a: Hierarchy, b: Hierarchy) -> None:
    one, other = minimize(flatten(a)), minimize(flatten(b))
    renamed = replace(one[one.root], name=other.root)
    assert (renamed == other[other.root]) == equivalent(one, other)


@given(hierarchies())
def test_flat_minimal_machines_have_pairwise_different_states_and_irredundant_guards(tree: Hierarchy) -> None:
    smallest = minimize(flatten(tree))
    (root,) = smallest.machines
    inner = [s for s in root.states if not root.is_terminal(s)]
    started = [Hierarchy(root.name, (replace(root, initial=s),), PROPOSITIONS) for s in inner]
    states = [initial_state(one) for one in started]
    numbers = classes(smallest, states, ALL_LABELS)
    assert len({numbers[state] for state in states}) == len(states), "two states do the same"
    is_small = IS_THOROUGH or len(started) <= FEW_STATES
    for a, b in combinations(started, 2) if is_small else pairwise(started):
        assert not equivalent(a, b)
    sets = LabelSets(PROPOSITIONS)
    for edge in root.edges:
        assert sets.cover(sets.of(edge.formula)) == edge.formula
