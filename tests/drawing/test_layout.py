"""Nothing stands on anything else, and edges touch only what they belong to."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Final, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine, machine
from rewardmachines.drawing.layout.coordinates import spaced
from rewardmachines.drawing.layout.geometry import Box, Point
from rewardmachines.drawing.layout.layers import rank
from rewardmachines.drawing.layout.machine_layout import MachineLayout, PlacedEdge, lay_out
from rewardmachines.drawing.options import Direction
from rewardmachines.drawing.scene.compose import arrange
from strategies import hierarchies

Page: TypeAlias = tuple[Direction, float]

PAGES: Final[list[Page]] = [("right", math.inf), ("right", 330.0), ("down", math.inf), ("auto", 500.0)]
LONG = "u0>u1/milk-bucket-and-sugar/u0>u1"


def tangle() -> RewardMachine:
    """Circles, edges both ways, parallel edges, self-loops, a name too long for a circle, a state nothing leads to."""
    return machine(
        "tangle",
        [
            ("u0", "u1", "a & !b"),
            ("u1", "u0", "b"),
            ("u0", "u1", "c", "other"),
            ("u1", "u2", "c"),
            ("u2", "u2", "a"),
            ("u2", "u2", "b", "other"),
            ("u2", "u0", "d"),
            (LONG, "u0", "a | b & !c | d & e & !f | g & h & !i | j & k & l & m"),
            (LONG, "uR", "lava"),
            ("u2", "uA", "e"),
            *((f"u{i}", "uR", "lava") for i in range(3)),
        ],
    )


def long_machine(states: int, every: int) -> RewardMachine:
    forwards = [(f"u{i}", f"u{i + 1}" if i + 1 < states else "uA", "a & !b") for i in range(states)]
    jumps = [(f"u{i}", f"u{(i * 7 + 3) % states}", "b") for i in range(0, states, every)]
    return machine("long", [*forwards, *jumps])


def boxes(layout: MachineLayout) -> list[Box]:
    return [*(state.box for state in layout.states), *(label.box for label in layout.labels)]


def assert_nothing_overlaps(layout: MachineLayout) -> None:
    for a, b in combinations(boxes(layout), 2):
        assert not a.overlaps(b), (a, b)


def assert_edges_keep_clear(layout: MachineLayout) -> None:
    for edge in layout.edges:
        obstacles = [label.box for label in layout.labels if label not in edge.labels]
        obstacles += [state.box for state in layout.states if state.figure.name not in ends(edge)]
        for point in edge.curve.samples(20):
            assert not any(inside(point, box) for box in obstacles), (point, edge)


def ends(edge: PlacedEdge) -> tuple[str, str]:
    return edge.labels[0].figure.edge.source, edge.labels[0].figure.edge.target


def inside(point: Point, box: Box) -> bool:
    return box.left < point.x < box.right and box.top < point.y < box.bottom


@given(hierarchy=hierarchies(deterministic=False), page=st.sampled_from(PAGES))
@settings(max_examples=50, deadline=None)
def test_states_and_labels_never_overlap_and_edges_pass_between_them(hierarchy: Hierarchy, page: Page) -> None:
    for one in hierarchy:
        layout = lay_out(one, *page)
        assert {state.figure.name for state in layout.states} == set(one.states)
        assert len(layout.labels) == len(one.edges)
        assert_nothing_overlaps(layout)
        assert_edges_keep_clear(layout)


@pytest.mark.parametrize("page", PAGES, ids=["line", "rows", "column", "auto"])
@pytest.mark.parametrize("subject", [tangle(), long_machine(14, 1), long_machine(30, 5)], ids=["tangle", "14", "30"])
def test_tangled_machines_are_laid_out_without_overlap(subject: RewardMachine, page: Page) -> None:
    layout = lay_out(subject, *page)
    assert_nothing_overlaps(layout)
    assert_edges_keep_clear(layout)


def test_edges_that_lead_down_keep_clear_of_the_self_loops_beside_their_state() -> None:
    layout = lay_out(
        machine(
            "loops",
            [
                ("u0", "uR", "!a & !c", "m2"),
                ("u0", "uA", "true | a | b & c & !a | c & !a & !b", "m2"),
                ("u1", "uA", "b & !a & !c | !a & !b & !c", "m2"),
                ("u1", "uA", "a & !c", "m0"),
                ("u1", "uA", "c & !b", "m1"),
                ("u1", "u1", "b & c & !a", "m2"),
                ("u1", "u1", "a & b & c"),
                ("u1", "uR", "true"),
            ],
        ),
        "down",
    )
    assert_edges_keep_clear(layout)


@given(hierarchy=hierarchies(deterministic=False), page=st.sampled_from(PAGES))
@settings(max_examples=30, deadline=None)
def test_everything_lies_within_the_stated_size(hierarchy: Hierarchy, page: Page) -> None:
    for one in hierarchy:
        layout = lay_out(one, *page)
        for box in boxes(layout):
            assert -0.01 <= box.left <= box.right <= layout.width + 0.01
            assert -0.01 <= box.top <= box.bottom <= layout.height + 0.01


@pytest.mark.parametrize("page", PAGES, ids=["line", "rows", "column", "auto"])
def test_curves_lead_from_the_source_to_the_target_even_against_the_current(page: Page) -> None:
    layout = lay_out(tangle(), *page)
    middles = {state.figure.name: state.box for state in layout.states}
    for edge in layout.edges:
        source, target = ends(edge)
        for point, box in ((edge.curve.start, middles[source]), (edge.curve.end, middles[target])):
            reach = max(box.width, box.height) / 2 + 2
            assert abs(point.x - box.middle.x) <= reach
            assert abs(point.y - box.middle.y) <= reach


def test_the_initial_state_stands_leftmost_even_if_edges_lead_into_it() -> None:
    layout = lay_out(tangle())
    initial = next(state for state in layout.states if state.figure.name == "u0")
    assert all(initial.box.middle.x <= state.box.middle.x for state in layout.states)


def test_only_edges_that_close_a_circle_or_enter_the_initial_state_lead_back() -> None:
    ranking = rank(5, [(0, 1), (1, 2), (2, 1), (2, 3), (4, 0), (0, 3)])
    assert ranking.flipped == (False, False, True, False, True, False)
    assert ranking.ranks[:4] == (0, 1, 2, 3)


def test_spacing_moves_wishes_as_little_as_the_distances_allow() -> None:
    assert spaced([0, 0, 30], [1, 1, 1], [10, 10]) == [-5, 5, 30]
    assert spaced([0, 0], [3, 1], [8]) == [-2, 6]


def test_panels_do_not_overlap_and_the_root_is_in_the_corner() -> None:
    sizes = [(500.0, 200.0), (300.0, 100.0), (420.0, 160.0), (150.0, 90.0), (300.0, 110.0)]
    page = arrange(sizes)
    areas = [Box(Point(a.x + a.width / 2, a.y + a.height / 2), a.width, a.height) for a in page.areas]
    assert (page.areas[0].x, page.areas[0].y) == (0, 0)
    assert all(not a.overlaps(b) for a, b in combinations(areas, 2))
    assert all(a.width >= w - 0.01 and a.height >= h - 0.01 for a, (w, h) in zip(areas, sizes, strict=True))


def test_states_of_a_machine_of_300_states_do_not_overlap() -> None:
    states = [state.box for state in lay_out(long_machine(299, 1)).states]
    assert len(states) == 300
    assert all(not a.overlaps(b) for a, b in combinations(states, 2))
