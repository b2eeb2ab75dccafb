"""Pairs on arrays: positions and labels have the numbers of the core, and episodes count what they have tried."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import Verdict, traverse, verdict_of
from rewardmachines.lhrm.conformance import CLOSED, EVENTS, POSITIONS, Positions
from rewardmachines.lhrm.conformance import position_of as position_of_core
from rewardmachines.lhrm.tables import position_table
from rewardmachines.lowered import Capacity, LoweredHierarchy, Tables, capacity_for, initial_state, lower, step
from rewardmachines.lowered.traversal import State
from rewardmachines.rollout.pairs import counted_pairs, event_of, least_tried, position_of, with_pairs
from rewardmachines.rollout.tables import Endings, PairTables, Search
from strategies import ALL_LABELS, PROPOSITIONS, hierarchies

ROOM = Capacity(machines=6, states=8, chains=256, depth=5, edges=16, disjuncts=32)
LENGTH, BATCH = 8, 4
SEEN: tuple[Label, ...] = tuple(label for label in ALL_LABELS if label)[::-1]
words = st.lists(st.sampled_from(ALL_LABELS), min_size=LENGTH, max_size=LENGTH)


def tables_of(lowered: LoweredHierarchy, tested: Positions, labels: int) -> PairTables:
    """The pairs of one task, all with an effort of 0; label j is pursued by option j."""
    codes = np.zeros((EVENTS, lowered.bits.words), np.uint32)
    codes[:labels] = lowered.bits.encode_all(SEEN[:labels])
    arrays = (
        position_table(lowered, [tested]),
        codes,
        np.arange(EVENTS) < labels,
        np.where(np.arange(EVENTS) < labels, np.arange(EVENTS), -1).astype(np.int32),
        np.zeros((1, POSITIONS, EVENTS), np.int32),
        np.int32(CLOSED),
        np.ones(1, bool),
    )
    return PairTables(*jax.tree.map(jnp.asarray, arrays))


@jax.jit
def walked(tables: Tables, pairs: PairTables, words: jax.Array, root: int) -> tuple[jax.Array, jax.Array]:
    """The positions before each label, and the numbers of the labels, of a batch of traces."""

    def body(states: State, labels: jax.Array) -> tuple[State, tuple[jax.Array, jax.Array]]:
        position = position_of(pairs, jnp.zeros(BATCH, jnp.int32), states)
        return jax.vmap(partial(step, tables))(states, labels), (position, event_of(pairs, labels))

    starts = jax.vmap(lambda _: initial_state(tables, root))(jnp.arange(BATCH))
    _, seen = jax.lax.scan(body, starts, words.swapaxes(0, 1))
    return seen


@settings(max_examples=60)
@given(hierarchies(), st.lists(words, min_size=BATCH, max_size=BATCH), st.integers(1, len(SEEN)))
def test_positions_and_labels_have_the_numbers_of_the_core(
    tree: Hierarchy, batch: list[list[Label]], labels: int
) -> None:
    assume(ROOM.covers(capacity_for(tree)))
    lowered = lower(tree, propositions=PROPOSITIONS, capacity=ROOM)
    tested = Positions.of(Hierarchy(tree.root, tree.reachable(), PROPOSITIONS), SEEN)
    pairs = tables_of(lowered, tested, labels)
    codes = jnp.asarray(np.stack([lowered.bits.encode_all(word) for word in batch]))
    positions, events = map(np.asarray, walked(lowered.tables, pairs, codes, lowered.root))
    for b, word in enumerate(batch):
        for t, (state, label) in enumerate(zip(traverse(tree, word), word, strict=False)):
            if verdict_of(tree, state) is not Verdict.NEITHER:
                break  # the episode is over
            assert positions[t, b] == tested.numbers[position_of_core(state)]
            assert events[t, b] == (SEEN.index(label) if label in SEEN[:labels] else -1)


# -- one machine: first a, then b

TREE = Hierarchy("ab", (machine("ab", [("u0", "u1", "a"), ("u1", "uA", "b")]),), PROPOSITIONS)
LOWERED = lower(TREE, propositions=PROPOSITIONS)
TESTED = Positions.of(TREE, SEEN)
PAIRS = tables_of(LOWERED, TESTED, len(SEEN))
COUNT = 400
NONE = jnp.zeros((COUNT, POSITIONS), jnp.uint32)


def search(tried: jax.Array = NONE, pursued: jax.Array = NONE) -> Search:
    """Searches of which only the pairs matter here."""
    unused: Any = None
    return Search(unused, unused, unused, unused, unused, unused, tried, pursued)


def drawn(pairs: PairTables, searched: Search, can: jax.Array | None = None) -> tuple[set[int], Any]:
    """The labels that are drawn in the initial state, and the mask of the rows that have one."""
    starts = jax.vmap(lambda _: initial_state(LOWERED.tables, LOWERED.root))(jnp.arange(COUNT))
    can = jnp.ones((COUNT, len(SEEN)), bool) if can is None else can
    event, has = least_tried(pairs, jnp.zeros(COUNT, jnp.int32), starts, searched, can, jax.random.key(0))
    return set(np.asarray(event)[np.asarray(has)].tolist()), np.asarray(has)


def test_masks_gain_the_pairs_of_positions_and_labels_that_are_counted() -> None:
    position, event = jnp.array([1, 1, -1, 0]), jnp.array([31, -1, 4, 2])
    mask = with_pairs(jnp.zeros((4, POSITIONS), jnp.uint32).at[:, 1].set(1), position, event)
    assert np.asarray(mask[:, :2]).tolist() == [[0, 1 + 2**31], [0, 1], [0, 1], [4, 1]]
    assert not np.asarray(mask[:, 2:]).any()


def test_labels_that_were_tried_least_are_drawn_and_none_twice_in_an_episode() -> None:
    efforts = jnp.array([3, 1, 1, CLOSED, 2, 1, 2] + [0] * (EVENTS - 7))
    pairs = PAIRS._replace(effort=PAIRS.effort.at[0, 0].set(efforts))
    assert drawn(pairs, search())[0] == {1, 2, 5}, "ties are broken at random; numbers not in use are left out"
    first = jnp.zeros_like(NONE).at[:, 0].set(2**1 + 2**2)
    assert drawn(pairs, search(tried=first))[0] == {5}
    assert drawn(pairs, search(tried=first, pursued=jnp.zeros_like(NONE).at[:, 0].set(2**5)))[0] == {4, 6}
    can = jnp.arange(len(SEEN)) == 0
    assert drawn(pairs, search(), jnp.broadcast_to(can, (COUNT, len(SEEN))))[0] == {0}
    assert not drawn(pairs, search(), jnp.zeros((COUNT, len(SEEN)), bool))[1].any()
    closed = pairs._replace(effort=jnp.full_like(pairs.effort, CLOSED))
    assert not drawn(closed, search())[1].any()


def test_what_an_episode_has_tried_counts_once_it_is_judged_and_what_it_pursued_once_it_is_over() -> None:
    is_over, is_judged = jnp.array([True, True, False, True]), jnp.array([True, False, True, True])
    tried = jnp.zeros((4, POSITIONS), jnp.uint32).at[:, 1].set(5)
    endings = Endings(is_over, is_over, is_over, is_judged, is_judged)
    pairs = PAIRS._replace(effort=jnp.zeros((3, POSITIONS, EVENTS), jnp.int32))
    counts = counted_pairs(pairs, jnp.array([0, 0, 0, 2]), search(tried, tried), endings)
    shown = [np.argwhere(np.asarray(one)).tolist() for one in counts]
    assert shown == [[[0, 1, 0], [0, 1, 2], [2, 1, 0], [2, 1, 2]]] * 2
    assert np.asarray(counts.tried)[0, 1, 0] == 1
    assert np.asarray(counts.pursued)[0, 1, 0] == 2
