"""Determinism without saturation against brute force over all labels."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from learning.test_asp_answers import holds
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, machine
from rewardmachines.core.traversal import can_start
from rewardmachines.exchange.asp_names import Constants
from rewardmachines.learning.asp import machine_facts, start_facts
from strategies import ALL_LABELS, hierarchies


def judged(whole: Hierarchy) -> bool:
    """What the encoding says of the root."""
    root, constants = whole[whole.root], Constants.of(whole)
    callees = {name: whole.rooted(name) for name in sorted(root.callees)}
    return holds("\n".join([*machine_facts(root, constants), *start_facts(callees, constants)]), "determinism")


def is_deterministic(whole: Hierarchy) -> bool:
    """Whether no label starts two edges out of a state of the root; terminal states of a kind are one."""
    root, constants = whole[whole.root], Constants.of(whole)
    ends = constants.states[root.name]
    return all(
        len({(ends[edge.target], edge.callee) for edge in root.outgoing(state) if starts(whole, edge, label)}) <= 1
        for state in root.states
        for label in ALL_LABELS
    )


def starts(whole: Hierarchy, edge: Edge, label: Label) -> bool:
    callee = edge.callee if edge.calls_leaf else whole[edge.callee].initial
    return edge.formula.holds(label) and can_start(whole, edge.callee, callee, label)


@settings(deadline=None, max_examples=150)
@given(whole=hierarchies(max_height=3, deterministic=False))
def test_the_encoding_accepts_exactly_the_deterministic_roots(whole: Hierarchy) -> None:
    assert judged(whole) is is_deterministic(whole)


@settings(deadline=None, max_examples=50)
@given(whole=hierarchies(max_height=3))
def test_what_was_drawn_as_deterministic_is_accepted(whole: Hierarchy) -> None:
    assert judged(whole)


PAPER = machine("paper", [("u0", "u1", "sugarcane"), ("u1", "uA", "workbench")])
LEATHER = machine("leather", [("u0", "u1", "rabbit"), ("u1", "uA", "workbench")])


@pytest.mark.parametrize(
    ("paper", "leather", "deterministic"),
    [
        ("true", "true", False),
        ("!rabbit", "true", True),
        ("true", "!sugarcane", True),
        ("table", "!table", True),
        ("!sugarcane", "true", True),  # paper never starts under this (E8)
        ("!table", "true", False),
        ("rabbit", "true", False),
    ],
)
def test_the_conditions_of_callees_count(paper: str, leather: str, deterministic: bool) -> None:
    book = machine("book", [("u0", "u1", paper, "paper"), ("u0", "u2", leather, "leather"), ("u1", "uA", "table")])
    assert judged(hierarchy(book, PAPER, LEATHER)) is deterministic


def test_the_same_target_by_two_callees_is_two_edges_and_by_one_is_one() -> None:
    twice = machine("twice", [("u0", "uA", "table", "paper"), ("u0", "uA", "true", "paper")])
    mixed = machine("mixed", [("u0", "uA", "table", "paper"), ("u0", "uA", "sugarcane")])
    assert judged(hierarchy(twice, PAPER))
    assert not judged(hierarchy(mixed, PAPER))


def test_a_callee_that_never_starts_clashes_with_nothing() -> None:
    stuck = machine("stuck", [], states=("u0", "uA"))
    root = machine("root", [("u0", "uA", "true", "stuck"), ("u0", "u1", "a"), ("u1", "uA", "b")])
    assert judged(hierarchy(root, stuck))


@pytest.mark.parametrize(("first", "second"), [("a", "!a"), ("!a", "a")])
def test_callees_that_start_on_different_labels_exclude_each_other(first: str, second: str) -> None:
    callees = machine("m1", [("u0", "uA", first)]), machine("m2", [("u0", "uA", second)])
    apart = machine("root", [("u0", "u1", "true", "m1"), ("u0", "u2", "true", "m2"), ("u1", "uA", "b")])
    assert judged(hierarchy(apart, *callees))
    assert not judged(hierarchy(apart, callees[0], machine("m2", [("u0", "uA", "c")])))


@pytest.mark.parametrize(("formula", "start"), [("a", "!a"), ("!a", "a")])
@pytest.mark.parametrize("targets", [("u1", "u2"), ("u2", "u1")])
def test_a_formula_excludes_the_callee_of_another_edge(formula: str, start: str, targets: tuple[str, str]) -> None:
    root = machine("root", [("u0", targets[0], formula), ("u0", targets[1], "true", "m1"), ("u1", "u2", "b")])
    assert judged(hierarchy(root, machine("m1", [("u0", "uA", start)])))
    assert not judged(hierarchy(root, machine("m1", [("u0", "uA", "c")])))
