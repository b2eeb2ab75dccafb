from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.brute_force import shortest_difference
from paper import drawn
from rewardmachines.core.equivalence import difference, equivalent, interchangeable
from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.language import compile_task
from strategies import ALL_LABELS, hierarchies

label_choices = st.sets(st.sampled_from(ALL_LABELS)) | st.none()


def test_book_equals_its_flat_form_but_not_the_other_drawing_of_book() -> None:
    book, flat = drawn("craftworld_book_nonflat"), drawn("craftworld_book_flat")
    assert equivalent(book, flat)
    other = drawn("craftworld_roots").rooted("M9")
    word = difference(book, other)
    assert word is not None
    assert word[0] == {"rabbit", "sugarcane"}, "they differ on labels that CraftWorld cannot show"
    assert equivalent(book, other, labels="!(rabbit & sugarcane)")


def test_the_empty_trace_may_be_the_difference() -> None:
    done = hierarchy(machine("m", [], initial="uA", accepting=["uA"]))
    waiting = hierarchy(machine("m", [("u0", "uA", "a")]))
    assert difference(done, waiting) == ()
    assert not equivalent(done, waiting)


def test_a_rejection_inside_a_callee_counts_even_if_the_caller_has_no_rejecting_state() -> None:
    callee = machine("n", [("u0", "uR", "lava"), ("u0", "uA", "a & !lava")])
    strict = hierarchy(machine("m", [("u0", "uA", "true", "n")]), callee)
    lenient = hierarchy(machine("m", [("u0", "uA", "a & !lava")]))
    assert difference(strict, lenient) == ({"lava"},)
    assert verdict(strict, [{"lava"}]) is Verdict.REJECT


def test_events_leave_out_repeated_labels() -> None:
    twice = hierarchy(machine("m", [("u0", "u1", "a"), ("u1", "uA", "a")]))
    with_gap = hierarchy(machine("m", [("u0", "u1", "a"), ("u1", "u2", "!a"), ("u2", "uA", "a")]))
    assert difference(twice, with_gap) == ({"a"}, {"a"})
    assert difference(twice, with_gap, events=True, labels=[[], ["a"]]) is None


def test_propositions_known_to_one_side_only_can_be_observed_too() -> None:
    a = hierarchy(machine("m", [("u0", "uA", "a")]))
    b = hierarchy(machine("m", [("u0", "uA", "a & !b")]))
    assert difference(a, b) == ({"a", "b"},)


def test_comparing_a_nondeterministic_hierarchy_raises_where_two_calls_could_start() -> None:
    broken = hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "u1", "b")]))
    with pytest.raises(NondeterminismError, match=r"\{a, b\} starts both"):
        equivalent(broken, broken)


@given(hierarchies(), hierarchies(), label_choices, st.booleans())
def test_difference_is_as_short_as_brute_force_finds(
    a: Hierarchy, b: Hierarchy, some: set[Label] | None, events: bool
) -> None:
    labels = list(ALL_LABELS) if some is None else sorted(some, key=sorted)
    _compare(a, b, labels, some, events)


@given(hierarchies(), st.data())
def test_difference_finds_small_changes(tree: Hierarchy, data: st.DataObject) -> None:
    """Hierarchies that are almost alike differ late, if at all."""
    changed = data.draw(st.sampled_from(tree.machines))
    targets = [s for s in changed.states if s != changed.initial]
    edges = list(changed.edges)
    if edges:
        i = data.draw(st.integers(0, len(edges) - 1))
        edges[i] = Edge(edges[i].source, data.draw(st.sampled_from(targets)), edges[i].formula, edges[i].callee)
    fields = (changed.initial, changed.accepting, changed.rejecting)
    mutant = RewardMachine(changed.name, changed.states, tuple(edges), *fields)
    other = Hierarchy(tree.root, tuple(mutant if m is changed else m for m in tree.machines), tree.propositions)
    _compare(tree, other, list(ALL_LABELS), None, data.draw(st.booleans()))


def _compare(a: Hierarchy, b: Hierarchy, labels: list[Label], some: set[Label] | None, events: bool) -> None:
    word = difference(a, b, labels=some, events=events)
    expected = shortest_difference(a, b, labels, events=events)
    assert (word is None) == (expected is None)
    if word is not None and expected is not None:
        assert len(word) == len(expected)
        assert verdict(a, word) is not verdict(b, word)
        assert all(label in labels for label in word)
        assert not events or all(x != y for x, y in pairwise(word))


@given(hierarchies())
def test_a_hierarchy_is_interchangeable_with_its_minimal_form(tree: Hierarchy) -> None:
    smaller = minimize(tree)
    for name in (m.name for m in smaller if m.name != smaller.root):
        assert interchangeable(tree.rooted(name), smaller.rooted(name))


def test_sixty_propositions_are_no_obstacle() -> None:
    names = [f"p{i:02}" for i in range(60)]
    task = compile_task(" ; ".join(f"({a} & {b})" for a, b in zip(names[::2], names[1::2], strict=True)))
    flat = minimize(flatten(task))
    assert equivalent(task, flat)
    wide = hierarchy(
        machine("m", [("u0", "uA", " | ".join(f"({a} & !{b})" for a, b in zip(names[:30], names[30:], strict=True)))])
    )
    slow_order = minimize(wide)
    assert equivalent(wide, slow_order)
    assert difference(task, wide) is not None
