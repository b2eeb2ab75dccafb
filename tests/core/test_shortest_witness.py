"""Whatever tells two hierarchies apart is found, and nothing shorter tells them apart: judged by brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from core.brute_force import shortest_difference
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.core.traversal import verdict
from strategies import ALL_LABELS, formulas, hierarchies


def branches(ends: dict[str, tuple[int, str]], turns: tuple[str, str] = ("e & !d", "d & !e")) -> Hierarchy:
    """One branch for each proposition, of some length and with some end, which two formulas take turns to walk."""
    names = sorted(ends)
    edges: list[tuple[str, str, str]] = []
    for p in names:
        length, end = ends[p]
        others = " & ".join(f"!{q}" for q in names if q != p)
        states = ["u0", *(f"{p}{i}" for i in range(length)), end]
        labels = [f"{p} & {others}", *(turns[i % 2] for i in range(length))]
        edges += [(u, v, label) for (u, v), label in zip(pairwise(states), labels, strict=True)]
    return hierarchy(machine("m", edges, states=["uA", "uR"]))


@pytest.mark.parametrize("lengths", list(permutations((1, 4, 7))))
@pytest.mark.parametrize("events", [False, True])
def test_of_several_branches_that_differ_the_shortest_is_found(lengths: tuple[int, ...], events: bool) -> None:
    """Whatever the order in which they are looked at."""
    one = branches({p: (n, "uA") for p, n in zip("abc", lengths, strict=True)})
    other = branches({p: (n, "uR") for p, n in zip("abc", lengths, strict=True)})
    word = difference(one, other, events=events)
    assert word is not None
    shortest = "abc"[lengths.index(1)]
    assert word == ({shortest}, {"e"})


@pytest.mark.parametrize("lengths", list(permutations((2, 4, 6))))
def test_where_labels_cannot_repeat_the_shortest_way_with_pauses_is_found(lengths: tuple[int, ...]) -> None:
    one, other = (
        branches({p: (n, end) for p, n in zip("abc", lengths, strict=True)}, ("d", "d")) for end in ("uA", "uR")
    )
    shortest = "abc"[lengths.index(2)]
    assert difference(one, other) == ({shortest}, {"d"}, {"d"})
    word = difference(one, other, labels=["a", "b", "c", "d"], events=True)
    assert word is not None
    assert len(word) == 4
    assert shortest in word[0]
    assert verdict(one, word) is not verdict(other, word)


@pytest.mark.parametrize("lengths", list(permutations((2, 4, 6))))
def test_a_detour_through_a_call_is_not_taken_for_the_shortest_way(lengths: tuple[int, ...]) -> None:
    callees = [
        machine(f"n{i}", [(f"u{k}", f"u{k + 1}", "a" if k % 2 else "b") for k in range(n)], accepting=[f"u{n}"])
        for i, n in enumerate(lengths)
    ]

    def root(end: str) -> RewardMachine:
        starts = ("c & !d", "d & !c", "c & d")
        calls = [("u0", f"v{i}", starts[i], f"n{i}") for i in range(3)]
        return machine("m", [*calls, *((f"v{i}", end, "d") for i in range(3))], states=["uA", "uR"])

    one, other = hierarchy(root("uA"), *callees), hierarchy(root("uR"), *callees)
    word = difference(one, other)
    expected = shortest_difference(one, other, _labels("abcd"))
    assert word is not None
    assert expected is not None
    assert len(word) == len(expected) == 3
    assert verdict(one, word) is not verdict(other, word)


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_a_difference_behind_every_single_last_label_is_found(first: str, second: str) -> None:
    """Either label leads into the state, but only after one of them the other one may come next."""

    def entered(end: str) -> Hierarchy:
        into = f"({first} & !{second}) | ({second} & !{first})"
        return hierarchy(machine("m", [("u0", "u1", into), ("u1", end, f"{first} & !{second}")], states=["uA", "uR"]))

    word = difference(entered("uA"), entered("uR"), labels=[[first], [second]], events=True)
    assert word == ({second}, {first})


def test_a_difference_that_only_waiting_shows_is_found() -> None:
    """Two labels that lead nowhere must take turns before the one that tells can come again."""
    a, b = (hierarchy(machine("m", [("u0", "u1", "a"), ("u1", end, "a")], states=["uA", "uR"])) for end in ("uA", "uR"))
    assert difference(a, b, labels=[["a"], ["b"]], events=True) == ({"a"}, {"b"}, {"a"})


@st.composite
def almost_alike(draw: st.DrawFn) -> tuple[Hierarchy, Hierarchy]:
    """A hierarchy, and one in which one edge leads elsewhere, is guarded otherwise, or is gone."""
    tree = draw(hierarchies() | hierarchies(max_height=6))
    changed = draw(st.sampled_from([m for m in tree.machines if m.edges] or tree.machines))
    edges = list(changed.edges)
    if edges:
        i = draw(st.integers(0, len(edges) - 1))
        old = edges.pop(i)
        targets = st.sampled_from([s for s in changed.states if s != old.target])
        elsewhere = targets.map(lambda target: [Edge(old.source, target, old.formula, old.callee)])
        otherwise = formulas().map(lambda formula: [Edge(old.source, old.target, formula, old.callee)])
        edges[i:i] = draw(elsewhere | otherwise | st.just([]))
    other = tuple(replace(m, edges=tuple(edges)) if m is changed else m for m in tree.machines)
    return tree, Hierarchy(tree.root, other, tree.propositions)


@given(almost_alike(), st.sets(st.sampled_from(ALL_LABELS), min_size=2) | st.none(), st.booleans())
def test_small_changes_are_found_by_a_trace_as_short_as_brute_force_finds(
    pair: tuple[Hierarchy, Hierarchy], some: set[Label] | None, events: bool
) -> None:
    a, b = pair
    labels = sorted(ALL_LABELS if some is None else some, key=sorted)
    expected = _by_brute_force(a, b, labels, events=events)
    word = difference(a, b, labels=some, events=events)
    event(f"length of the witness: {'none' if expected is None else len(expected)}")
    assert (word is None) == (expected is None)
    if word is not None and expected is not None:
        assert len(word) == len(expected)
        assert verdict(a, word) is not verdict(b, word)
        assert set(word) <= set(labels)
        assert not events or all(x != y for x, y in pairwise(word))


def _by_brute_force(a: Hierarchy, b: Hierarchy, labels: list[Label], *, events: bool) -> tuple[Label, ...] | None:
    """Drops pairs of which one is not deterministic: another guard may clash."""
    try:
        return shortest_difference(a, b, labels, events=events)
    except NondeterminismError:
        assume(False)
        raise


def _labels(propositions: str) -> list[Label]:
    found: list[Label] = [frozenset()]
    for p in propositions:
        found += [label | {p} for label in found]
    return found
