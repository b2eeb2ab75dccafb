"""Distances to acceptance are those of the nearest traces, which a plain search finds label by label."""

from __future__ import annotations

from heapq import heappop, heappush

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rewardmachines as rm
from rewardmachines.core.distances import Distances
from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import HierarchyState, Verdict, verdict_of
from strategies import ALL_LABELS, hierarchies, labels, words

MOST_STATES = 400


def nearest(hierarchy: rm.Hierarchy, start: HierarchyState, allowed: tuple[Label, ...]) -> int | None:
    """The reference: Dijkstra's algorithm over hierarchy states, one step of the core for each label."""
    queue, done, order = [(0, 0, start)], set[HierarchyState](), 0
    while queue:
        distance, _, state = heappop(queue)
        if verdict_of(hierarchy, state) is Verdict.ACCEPT:
            return distance
        if state in done or verdict_of(hierarchy, state) is Verdict.REJECT:
            continue
        done.add(state)
        assume(len(done) < MOST_STATES)
        for label in allowed:
            order += 1
            heappush(queue, (distance + max(1, len(label)), order, rm.step(hierarchy, state, label)))
    return None


@given(hierarchy=hierarchies(), trace=words)
def test_distances_are_those_of_the_nearest_traces(hierarchy: rm.Hierarchy, trace: list[Label]) -> None:
    distances = Distances(hierarchy)
    for state in rm.traverse(hierarchy, trace):
        assert distances.of(state) == nearest(hierarchy, state, ALL_LABELS)


@given(hierarchy=hierarchies(), trace=words, allowed=st.frozensets(labels))
def test_distances_over_some_labels_are_those_of_the_nearest_traces_of_them(
    hierarchy: rm.Hierarchy, trace: list[Label], allowed: frozenset[Label]
) -> None:
    distances = Distances(hierarchy, allowed)
    for state in rm.traverse(hierarchy, trace):
        assert distances.of(state) == nearest(hierarchy, state, tuple(allowed))


@given(hierarchy=hierarchies(), trace=words)
def test_distances_of_a_flat_machine_are_those_of_its_hierarchy(hierarchy: rm.Hierarchy, trace: list[Label]) -> None:
    try:
        flat = rm.minimize(rm.flatten(hierarchy))
    except TooLargeError:
        assume(False)
    mine, others = Distances(hierarchy), Distances(flat)
    for state, other in zip(rm.traverse(hierarchy, trace), rm.traverse(flat, trace), strict=True):
        assert mine.of(state) == others.of(other)


@given(hierarchy=hierarchies(), trace=words, label=labels)
def test_one_label_brings_acceptance_no_nearer_than_its_propositions(
    hierarchy: rm.Hierarchy, trace: list[Label], label: Label
) -> None:
    distances = Distances(hierarchy)
    *_, before = rm.traverse(hierarchy, trace)
    there, here = distances.of(rm.step(hierarchy, before, label)), distances.of(before)
    assert there is None or (here is not None and here <= there + max(1, len(label)))


@given(hierarchy=hierarchies(), trace=words)
def test_only_acceptance_is_at_distance_0(hierarchy: rm.Hierarchy, trace: list[Label]) -> None:
    distances = Distances(hierarchy)
    for state in rm.traverse(hierarchy, trace):
        verdict = verdict_of(hierarchy, state)
        assert (distances.of(state) == 0) == (verdict is Verdict.ACCEPT)
        assert verdict is not Verdict.REJECT or distances.of(state) is None


def test_nothing_is_flattened_to_measure_large_hierarchies() -> None:
    tasks = {"t0": "a ; b"} | {f"t{i}": f"t{i - 1} ; t{i - 1}" for i in range(1, 40)}
    assert Distances(rm.compile_task("t39", tasks)).start == 2**40


@pytest.mark.parametrize(("task", "distance"), [("a & b", 2), ("a | (b ; c)", 1), ("(a & b) ; c", 3)])
def test_propositions_that_may_be_seen_at_once_count_each(task: str, distance: int) -> None:
    assert Distances(rm.compile_task(task)).start == distance


def test_labels_that_never_occur_are_no_shortcuts() -> None:
    task = rm.compile_task("a | (b ; c)")
    assert Distances(task, [{"b"}, {"c"}]).start == 2
    assert Distances(task, [{"b"}]).start is None
