"""What the random hierarchies of the property tests are like: `pytest -s` prints how large they are when minimal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from core.brute_force import clashing_word
from rewardmachines.core.flattening import flatten
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.reachability import check_determinism
from strategies import ALL_LABELS, LABELS_OF, MAX_EDGES, TREES, contextual_hierarchies, hierarchies

KINDS = {
    "plain": hierarchies(),
    "high": hierarchies(max_height=6),
    "contextual": contextual_hierarchies(),
    "many disjuncts": hierarchies(max_height=3, many_disjuncts=True),
}
BUCKETS = ((1, 1), (2, 3), (4, 7), (8, 15), (16, 31), (32, 10**9))
COUNT = 300


@cache
def drawn(kind: str) -> tuple[Hierarchy, ...]:
    """The same ones every time, as long as the same modules are loaded: Hypothesis picks up constants from them."""
    found: list[Hierarchy] = []

    @settings(
        max_examples=COUNT,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(KINDS[kind])
    def collect(tree: Hierarchy) -> None:
        found.append(tree)

    collect()
    return tuple(found)


def share(answers: Iterable[bool]) -> float:
    listed = list(answers)
    return sum(listed) / len(listed)


def minimal_size(tree: Hierarchy) -> int:
    """How many states of the minimal flat machine are reached."""
    smallest = minimize(flatten(tree))
    root = smallest[smallest.root]
    return len({root.initial, *(edge.target for edge in root.edges)})


def bucket(size: int) -> str:
    low, high = next((low, high) for low, high in BUCKETS if low <= size <= high)
    return f"{low}" if low == high else f"{low}-{high}" if high < 10**9 else f"{low} or more"


@pytest.mark.parametrize("kind", list(KINDS))
def test_most_hierarchies_are_not_trivial_when_minimal(kind: str) -> None:
    sizes = [minimal_size(tree) for tree in drawn(kind)]
    counts = Counter(map(bucket, sizes))
    shares = [f"{counts[bucket(low)] / len(sizes):.0%} have {bucket(low)}" for low, _ in BUCKETS]
    print(f"\n{kind}: of {len(sizes)} hierarchies, {', '.join(shares)} states when minimal and flat")
    assert share(size == 1 for size in sizes) < 0.3
    assert share(size > 3 for size in sizes) > 0.35
    assert share(size > 7 for size in sizes) > 0.1


@settings(max_examples=50)
@given(hierarchies())
def test_sizes_are_counted_among_the_statistics(tree: Hierarchy) -> None:
    """Seen with `--hypothesis-show-statistics`."""
    event(f"states when minimal: {bucket(minimal_size(tree))}")
    event(f"height: {tree.height}")


def test_initial_states_stand_anywhere_and_roots_first_or_last() -> None:
    trees = drawn("plain")
    machines = [m for tree in trees for m in tree]
    assert share(m.states[0] != m.initial for m in machines) > 0.5
    assert share(m.initial != "u0" for m in machines) > 0.1
    assert 0.1 < share(tree.machines[0].name != tree.root for tree in trees if len(tree) > 1) < 0.9


def test_calls_are_deep() -> None:
    assert share(tree.height >= 3 for tree in drawn("plain")) > 0.25
    assert share(tree.height >= 5 for tree in drawn("high")) > 0.1


def test_many_have_dead_ends_and_rejecting_states() -> None:
    trees = drawn("plain")
    assert share(any(_dead_ends(m) for m in tree.reachable()) for tree in trees) > 0.1
    assert share(any(e.target in m.rejecting for m in tree.reachable() for e in m.edges) for tree in trees) > 0.2


def _dead_ends(machine: RewardMachine) -> set[str]:
    """States that are entered, and neither left nor terminal."""
    entered = {edge.target for edge in machine.edges if edge.target != edge.source}
    return {s for s in entered if not machine.is_terminal(s) and all(e.target == s for e in machine.outgoing(s))}


def test_many_callees_are_deterministic_only_in_their_contexts() -> None:
    trees = drawn("contextual")
    assert share(any(check_determinism(tree.rooted(m.name)) for m in tree.reachable()) for tree in trees) > 0.25
    assert not any(check_determinism(tree.rooted(m.name)) for tree in drawn("plain") for m in tree)


def test_many_edges_have_more_than_16_disjuncts() -> None:
    def most(tree: Hierarchy) -> int:
        called = [len(e.formula.disjuncts) for m in tree.reachable() for e in m.edges if not e.calls_leaf]
        return max(called, default=0)

    assert share(most(tree) > 16 for tree in drawn("many disjuncts")) > 0.25
    assert max(map(most, drawn("many disjuncts"))) == 27


def test_what_compiled_code_must_have_room_for_is_bounded() -> None:
    for tree in drawn("plain"):
        assert len(tree) <= 4
        assert all(len(m.states) <= 8 for m in tree)
        assert all(len(m.outgoing(s)) <= MAX_EDGES for m in tree for s in m.states)
        assert all(len(e.formula.disjuncts) <= 16 for m in tree for e in m.edges)


def test_every_label_satisfies_one_path_of_a_decision_tree() -> None:
    assert len(TREES) > 100
    for tree in TREES:
        assert sorted(map(sorted, ALL_LABELS)) == sorted(sorted(label) for path in tree for label in LABELS_OF[path])


@given(st.one_of(*KINDS.values()))
def test_all_kinds_are_deterministic(tree: Hierarchy) -> None:
    assert clashing_word(tree, ALL_LABELS) is None
    assert check_determinism(tree) == []
