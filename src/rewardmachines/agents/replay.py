"""What was experienced, to learn from again: rings of rows that are overwritten when full.

Rows hold what the environment remembers of a moment, not its observation; that is recalled when a batch is drawn.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32, PRNGKeyArray, UInt8, UInt32

Row = TypeVar("Row")
Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Transition(NamedTuple):
    """One step of an environment."""

    before: Any
    action: UInt8[Array, ""]
    after: Any
    label: UInt32[Array, " W"]
    is_event: Bool[Array, ""]
    is_dead_end: Bool[Array, ""]


class Rings(NamedTuple, Generic[Row]):
    """G rings of the same size side by side; `written` counts all rows that each ever took."""

    rows: Row
    written: Int32[Array, " G"]


def empty(row: Row, rings: int, size: int) -> Rings[Row]:
    """`row` is any row: only its shapes matter."""
    rows = jax.tree.map(lambda x: jnp.asarray(np.zeros((rings * size, *jnp.shape(x)), jnp.asarray(x).dtype)), row)
    return Rings(rows, jnp.asarray(np.zeros(rings, np.int32)))


def size_of(rings: Rings[Row]) -> int:
    rows: int = jax.tree.leaves(rings.rows)[0].shape[0]
    return rows // int(rings.written.shape[0])


def write(rings: Rings[Row], rows: Row, ring: Int32[Array, " N"], when: Bool[Array, " N"]) -> Rings[Row]:
    """Puts each row into its ring, in their order; rows with `when` false go nowhere."""
    size, count = size_of(rings), rings.written.shape[0]
    member = (ring[:, None] == jnp.arange(count)) & when[:, None]  # [N, G]
    rank = jnp.take_along_axis(jnp.cumsum(member, axis=0) - 1, ring[:, None], axis=1)[:, 0]
    position = ring * size + (rings.written[ring] + rank) % size
    position = jnp.where(when, position, count * size)  # out of range: dropped
    put = lambda old, new: old.at[position].set(new.astype(old.dtype), mode="drop", unique_indices=True)  # noqa: E731
    return Rings(jax.tree.map(put, rings.rows, rows), rings.written + member.sum(axis=0, dtype=jnp.int32))


def latest(rings: Rings[Transition], count: int) -> tuple[Numbers, Numbers]:
    """Labels of the last steps, so many at most, and whether they were dead ends: on the host."""
    size, written = size_of(rings), int(rings.written[0])
    steps = np.arange(written - min(count, size), written)
    label, is_dead_end = (np.asarray(x[steps % size]) for x in (rings.rows.label, rings.rows.is_dead_end))
    return label[steps >= 0], is_dead_end[steps >= 0]


def sample(rings: Rings[Row], ring: Int32[Array, ""] | int, batch: int, key: PRNGKeyArray) -> Row:
    """Rows of one ring, at random, with repetition."""
    size = size_of(rings)
    filled = jnp.clip(rings.written[ring], 1, size)
    chosen = ring * size + jax.random.randint(key, (batch,), 0, filled)
    rows: Row = jax.tree.map(lambda x: x[chosen], rings.rows)
    return rows
