"""Positions, pairs and their efforts agree with a plain enumeration; tests are counted, and judged again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import Verdict, initial_state, step, verdict_of
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.lhrm import conformance
from rewardmachines.lhrm.conformance import (
    CLOSED,
    EMPTY,
    EVENTS,
    POSITIONS,
    VAIN,
    Position,
    Positions,
    Testing,
    TestProgress,
    overlooked,
    position_of,
)
from strategies import ALL_LABELS, hierarchies

SEEN: tuple[Label, ...] = tuple(label for label in ALL_LABELS if label)
NOTHING: Label = frozenset()
A, B, C = (frozenset(x) for x in "abc")
LOW = machine("low", [("u0", "u1", "a"), ("u1", "uA", "b")])
TOP = machine("top", [("u0", "u1", "true", "low"), ("u1", "uA", "c"), ("u1", "uR", "a")], rejecting=("uR",))
TREE = Hierarchy("top", (TOP, LOW), ("a", "b", "c"))
"""First a, then b, then c; then not a."""
START, IN_CALL, AFTER = Position("u0", "top", "u0"), Position("u0", "low", "u1"), Position("u1", "top", "u1")


def transitions(tree: Hierarchy, labels: Sequence[Label]) -> set[tuple[Position, Label, Position]]:
    """The steps between positions in which the episode goes on, all states enumerated until there are no more."""
    states, found = {initial_state(tree)}, set[tuple[Position, Label, Position]]()
    while True:
        moves = [(state, label, step(tree, state, label)) for state, label in product(states, labels)]
        moves = [move for move in moves if verdict_of(tree, move[2]) is Verdict.NEITHER]
        found |= {(position_of(state), label, position_of(after)) for state, label, after in moves}
        if {after for *_, after in moves} <= states:
            return found
        states |= {after for *_, after in moves}


def reachable(start: set[Position], steps: set[tuple[Position, Position]]) -> set[Position]:
    """The positions that steps lead to, those of the start among them."""
    found = set(start)
    while more := {after for before, after in steps if before in found} - found:
        found |= more
    return found


@settings(max_examples=60)
@given(hierarchies(max_height=3), st.permutations(SEEN), st.integers(1, len(SEEN)))
def test_positions_are_those_that_the_core_reaches(tree: Hierarchy, order: list[Label], count: int) -> None:
    labels = order[:count]
    found, steps = Positions.of(tree, labels), transitions(tree, [*labels, NOTHING])
    there = {position_of(initial_state(tree)), *(after for *_, after in steps)}
    assert set(found.numbers) == there
    assert sorted(found.numbers.values()) == list(range(len(there)))
    assert found.numbers[position_of(initial_state(tree))] == 0
    names = tuple(found.numbers)
    pairs = found.after.items()
    named = dict(enumerate([NOTHING, *labels], start=EMPTY))
    assert {(names[here], named[event], names[end]) for (here, event), ends in pairs for end in ends} == steps


@settings(max_examples=60)
@given(hierarchies(max_height=3), st.randoms(use_true_random=False), st.sampled_from([0.1, 0.5, 0.9]))
def test_pairs_are_reached_and_lead_on_as_in_a_plain_search(tree: Hierarchy, chance: object, share: float) -> None:
    draw = np.random.default_rng(chance.getrandbits(32))  # type: ignore[attr-defined]
    found, steps = Positions.of(tree, SEEN), transitions(tree, ALL_LABELS)
    names = tuple(found.numbers)
    tried = np.where(draw.random((POSITIONS, EVENTS)) < share, draw.integers(1, 4, (POSITIONS, EVENTS)), 0)
    is_tried = {(name, label) for i, name in enumerate(names) for j, label in enumerate(SEEN) if tried[i, j]}
    there = reachable({names[0]}, {(a, b) for a, label, b in steps if not label or (a, label) in is_tried})
    mask = found.reached(tried)
    assert {(names[i], SEEN[j]) for i, j in np.argwhere(mask).tolist()} == set(product(there, SEEN))

    is_open = np.zeros((POSITIONS, EVENTS), bool)
    is_open[: len(names), : len(SEEN)] = draw.random((len(names), len(SEEN))) < share / 4
    wanted = {names[i] for i, _ in np.argwhere(is_open).tolist()}
    moves = {(a, b) for a, _, b in steps}
    leads = {(a, label) for a, label, b in steps if label and a != b and reachable({b}, moves) & wanted}
    assert {(names[i], SEEN[j]) for i, j in np.argwhere(found.leading(is_open)).tolist()} == leads


def masks(*pairs: tuple[Position, Label, int]) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """Numbers of episodes by position and label, where TREE is tested on a, b and c."""
    found, numbers = Positions.of(TREE, (A, B, C)).numbers, np.zeros((POSITIONS, EVENTS), np.int32)
    for position, label, count in pairs:
        numbers[found[position], (A, B, C).index(label)] = count
    return numbers


def test_a_position_is_a_state_of_the_tasks_machine_and_the_state_of_the_machine_that_runs() -> None:
    found = Positions.of(TREE, (A, B, C))
    assert set(found.numbers) == {START, IN_CALL, AFTER}
    assert found.numbers[START] == 0
    after = {event for here, event in found.after if here == found.numbers[AFTER]}
    assert after == {EMPTY, 1}, "with a and with c the episode is over"


def test_a_machine_is_confirmed_when_all_pairs_that_can_be_reached_are_covered() -> None:
    testing, progress = Testing(2, (A, B, C)), TestProgress()
    assert not progress.is_complete
    progress = testing.counted(progress, TREE, masks((START, B, 2), (START, C, 1)), masks((START, C, 1)))
    assert (progress.pairs, progress.covered, progress.out_of_reach) == (3, 1, 0), "nobody has tried a"
    progress = testing.counted(progress, TREE, masks((START, A, 4), (START, C, 1)), 0)
    assert (progress.pairs, progress.covered) == (6, 3)
    progress = testing.counted(progress, TREE, masks(*((IN_CALL, one, 2) for one in (A, B, C))), 0)
    assert (progress.pairs, progress.covered, progress.is_complete) == (9, 6, False)
    nearly = testing.counted(progress, TREE, masks((AFTER, B, 2), (AFTER, C, 2)), masks((AFTER, A, 2 * VAIN - 1)))
    assert not nearly.is_complete
    done = testing.counted(nearly, TREE, masks((AFTER, A, 1)), masks((AFTER, A, 1)))
    assert (done.pairs, done.covered, done.out_of_reach, done.is_complete) == (9, 8, 1, True)
    assert from_plain(TestProgress, to_plain(done), "there") == done
    again = testing.counted(TestProgress(tries=done.tries), TREE)
    assert (again.covered, again.out_of_reach) == (8, 1), "derived from the tries"


def test_a_new_label_opens_pairs_and_tries_are_kept_by_name() -> None:
    testing = Testing(1, (A, B))
    progress = testing.counted(TestProgress(), TREE, masks((START, B, 1), (START, A, 1)), 0)
    testing.labels = (C, A, B)
    progress = testing.counted(progress, TREE)
    assert {(one.position, one.label) for one in progress.tries} == {(tuple(START), A), (tuple(START), B)}
    assert (progress.pairs, progress.covered) == (6, 2)


def test_open_pairs_and_the_ways_to_them_are_pursued_least_tried_first() -> None:
    testing = Testing(2, (A, B, C))
    tried = masks((START, A, 5), (START, B, 2), (START, C, 2), (IN_CALL, A, 1), (IN_CALL, B, 3), (IN_CALL, C, 2))
    progress = testing.counted(TestProgress(), TREE, tried, masks((IN_CALL, A, 4)))
    efforts, numbers = testing.efforts(progress, TREE), Positions.of(TREE, (A, B, C)).numbers
    shown = {
        (position, label): efforts[numbers[position], j]
        for position in (START, IN_CALL, AFTER)
        for j, label in enumerate((A, B, C))
        if efforts[numbers[position], j] < CLOSED
    }
    assert shown == {
        (START, A): 5,  # covered, and leads on
        (IN_CALL, A): 5,  # open: tried once, pursued four times
        (IN_CALL, B): 3,
        (AFTER, A): 0,
        (AFTER, B): 0,
        (AFTER, C): 0,
    }
    assert (efforts[len(numbers) :] == CLOSED).all()
    assert (efforts[:, 3:] == CLOSED).all()


def test_positions_and_labels_beyond_the_room_are_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "POSITIONS", 2)
    found = Positions.of(TREE, (A, B, C))
    assert list(found.numbers) == [START, IN_CALL]
    assert (1, 1) not in found.after, "b leads on to the third"


def test_a_changed_machine_has_positions_of_its_own() -> None:
    testing = Testing(1, (A, B, C))
    before = testing.positions(TREE)
    assert testing.positions(TREE) is before
    other = replace(TREE, machines=(TOP, machine("low", [("u0", "uA", "b")])))
    assert set(testing.positions(other).numbers) == {START, AFTER}


def test_the_bound_falls_with_the_tries_and_is_a_probability() -> None:
    bounds = [overlooked(20, n, 0.3) for n in range(40)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] == 1
    draw, (pairs, tries, share) = np.random.default_rng(0), (4, 6, 0.4)
    seen = draw.random((20_000, pairs, tries)) < share
    missed = (seen.sum(axis=2) == 0).sum(axis=1) > 0
    assert missed.mean() <= overlooked(pairs, tries, share) + 0.01
