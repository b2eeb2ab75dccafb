from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.brute_force import clashing_word
from paper import drawn
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.reachability import check_determinism
from strategies import ALL_LABELS, hierarchies


def test_book_is_deterministic_flat_and_not_flat() -> None:
    assert check_determinism(drawn("craftworld_book_flat")) == []
    assert check_determinism(drawn("craftworld_book_nonflat")) == []


def test_flat_book_without_its_negative_literal_is_not() -> None:
    broken = hierarchy(machine("m", [("u0", "u1", "sugarcane"), ("u0", "u4", "rabbit"), ("u1", "uA", "table")]))
    (conflict,) = check_determinism(broken)
    assert (conflict.machine, conflict.state, conflict.label) == ("m", "u0", {"sugarcane", "rabbit"})
    assert {conflict.first.target, conflict.second.target} == {"u1", "u4"}
    assert "{rabbit, sugarcane} starts both" in str(conflict)


def test_book_without_its_context_is_not() -> None:
    paper = machine("paper", [("u0", "uA", "sugarcane")])
    leather = machine("leather", [("u0", "uA", "rabbit")])
    book = machine("book", [("u0", "u1", "true", "paper"), ("u0", "u2", "true", "leather")])
    (conflict,) = check_determinism(hierarchy(book, paper, leather))
    assert conflict.label == {"sugarcane", "rabbit"}
    assert {conflict.first.callee, conflict.second.callee} == {"paper", "leather"}


def test_a_chain_that_contradicts_itself_can_never_fire() -> None:
    needs_a = machine("needs-a", [("u0", "uA", "a")])
    root = machine("m", [("u0", "u1", "!a", "needs-a"), ("u0", "uA", "b")])
    assert check_determinism(hierarchy(root, needs_a)) == []


def test_a_conflict_that_contexts_keep_away_is_none_until_the_state_is_entered_again() -> None:
    def callee(*more: tuple[str, str, str]) -> Hierarchy:
        inner = machine("n", [("u0", "u1", "a"), ("u0", "u2", "b"), ("u1", "uA", "c"), ("u2", "uA", "c"), *more])
        return hierarchy(machine("m", [("u0", "uA", "!a", "n")]), inner)

    assert check_determinism(callee()) == []
    (conflict,) = check_determinism(callee(("u2", "u0", "a & !c")))
    assert (conflict.machine, conflict.state, conflict.label) == ("n", "u0", {"a", "b"})


def test_a_clash_in_a_state_that_no_trace_reaches_is_none() -> None:
    never = machine("never", [("u0", "u1", "a")])
    root = machine("m", [("u0", "u1", "true", "never"), ("u1", "uA", "a"), ("u1", "u2", "a")])
    assert check_determinism(hierarchy(root, never)) == []


def test_only_labels_that_can_occur_count() -> None:
    loose = hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "u1", "b")]))
    assert check_determinism(loose)
    assert check_determinism(loose, labels=[[], ["a"], ["b"]]) == []
    assert check_determinism(loose, labels="!(a & b)") == []
    assert check_determinism(loose, labels=[["a", "b"]])


def test_two_disjuncts_of_one_edge_are_no_conflict() -> None:
    assert check_determinism(hierarchy(machine("m", [("u0", "uA", "a | b")]))) == []


@given(hierarchies(deterministic=False), st.sets(st.sampled_from(ALL_LABELS)) | st.none())
def test_conflicts_are_reported_exactly_when_some_trace_raises(tree: Hierarchy, some: set[Label] | None) -> None:
    labels = list(ALL_LABELS) if some is None else sorted(some, key=sorted)
    conflicts = check_determinism(tree, labels=some)
    assert bool(conflicts) == (clashing_word(tree, labels) is not None)
    for conflict in conflicts:
        assert conflict.label in labels
        assert conflict.first.formula.holds(conflict.label)
        assert conflict.second.formula.holds(conflict.label)


@given(hierarchies())
def test_the_strategy_makes_deterministic_hierarchies(tree: Hierarchy) -> None:
    assert check_determinism(tree) == []
