"""The tests of machines in environments: which pairs of a position and a label an episode tries, and which is next.

Positions and labels have numbers (`rollout.tables.PairTables`), and each episode has a mask of the pairs that it has
tried, [N, V] words with a bit for each of up to 32 labels. What is counted of it, and why: `lhrm.conformance`.
"""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32, PRNGKeyArray, UInt32

from rewardmachines.lowered import State
from rewardmachines.rollout.tables import Endings, PairCounts, PairTables, Search

NOWHERE: Final = -1
"""The number in place of a position or a label that has none."""


def position_of(pairs: PairTables, task: Int32[Array, " N"], belief: State) -> Int32[Array, " N"]:
    """The number of each belief's position, NOWHERE for those that are not tested. Mirrors `lhrm.conformance`."""
    own = jnp.where(belief.depth > 0, belief.source[:, 0], belief.state)
    return pairs.position[task, own, belief.machine, belief.state]


def event_of(pairs: PairTables, label: UInt32[Array, "N W"]) -> Int32[Array, " N"]:
    """The number of each label, NOWHERE for the empty label and for those that are not tested."""
    is_same = (label[:, None] == pairs.label[None]).all(axis=-1) & pairs.is_label  # [N, E]
    return jnp.where(is_same.any(axis=-1), jnp.argmax(is_same, axis=-1), NOWHERE).astype(jnp.int32)


def with_pairs(
    mask: UInt32[Array, "N V"], position: Int32[Array, " N"], event: Int32[Array, " N"]
) -> UInt32[Array, "N V"]:  # fmt: skip
    """The masks with one pair more in each row, where both numbers are there."""
    bit = jnp.where((position >= 0) & (event >= 0), jnp.left_shift(jnp.uint32(1), event.astype(jnp.uint32)), 0)
    row, column = jnp.arange(len(position)), jnp.maximum(position, 0)
    return mask.at[row, column].set(mask[row, column] | bit.astype(jnp.uint32))


def least_tried(
    pairs: PairTables,
    task: Int32[Array, " N"],
    belief: State,
    search: Search,
    can_follow: Bool[Array, "N G"],
    key: PRNGKeyArray,
) -> tuple[Int32[Array, " N"], Bool[Array, " N"]]:
    """The label that was tried least at each belief's position, and that the episode has not tried or pursued there.

    Args:
        pairs: The pairs and their efforts.
        task: The tasks of the episodes.
        belief: The states of their hierarchies.
        search: The pairs that the episodes have tried and pursued.
        can_follow: The exploration options that do not end with the present label.
        key: The random key, which decides between ties.

    Returns:
        The number of the label, and the mask of the episodes that have one to pursue.
    """
    position = position_of(pairs, task, belief)
    here = jnp.maximum(position, 0)
    effort = pairs.effort[task, here]  # [N, E]
    row = jnp.arange(len(task))
    tried, pursued = _masks(search)
    done = _bits((tried | pursued)[row, here], effort.shape[-1])
    can = (pairs.option >= 0) & can_follow[:, jnp.maximum(pairs.option, 0)] & (done == 0) & (effort < pairs.closed)
    tied = effort + jax.random.uniform(key, effort.shape)
    event = jnp.argmin(jnp.where(can, tied, jnp.inf), axis=-1).astype(jnp.int32)
    return event, can.any(axis=-1) & (position >= 0)


def counted_pairs(pairs: PairTables, task: Int32[Array, " N"], search: Search, endings: Endings) -> PairCounts:
    """The pairs of the episodes that end with this step, by task.

    A pair counts as tried if the episode has ended at the goal or at a dead end, as the machine says, and as pursued
    however it has ended.
    """
    tried, pursued = _masks(search)
    none, events = jnp.zeros(pairs.effort.shape, jnp.int32), pairs.effort.shape[-1]
    stood = jnp.where((endings.is_over & endings.is_judged)[:, None, None], _bits(tried, events), 0)
    ended = jnp.where(endings.is_over[:, None, None], _bits(pursued, events), 0)
    return PairCounts(none.at[task].add(stood), none.at[task].add(ended))


def _masks(search: Search) -> tuple[UInt32[Array, "N V"], UInt32[Array, "N V"]]:
    """The pairs that the episodes have tried, and those that they have pursued."""
    assert search.tried is not None, "machines are tested"
    assert search.pursued is not None, "machines are tested"
    return search.tried, search.pursued


def _bits(words: UInt32[Array, "*B"], count: int) -> Int32[Array, "*B E"]:
    """The lowest bits of words, the lowest first."""
    return ((words[..., None] >> jnp.arange(count, dtype=jnp.uint32)) & 1).astype(jnp.int32)
