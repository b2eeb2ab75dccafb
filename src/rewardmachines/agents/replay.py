"""Replay memories: rings of rows, of which the oldest are overwritten when a ring is full.

Rows store a compact form of each moment, which is smaller than its observation. The observation is computed when a
batch is drawn.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt8, UInt32

Row = TypeVar("Row")
Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Transition(NamedTuple):
    """One step of an environment, as a row."""

    before: Any
    """The moment in which the action was taken, as it is stored."""
    action: UInt8[Array, ""]
    after: Any
    """The moment that the action led to, as it is stored."""
    label: UInt32[Array, " W"]
    """The label of the moment after the action."""
    is_event: Bool[Array, ""]
    """Whether the label has changed."""
    is_dead_end: Bool[Array, ""]
    """Whether the episode has ended by itself and without reaching the goal."""
    reward: Float[Array, ""] | None = None
    """The environment's own reward, weighted; None if the weight is 0."""


class Rings(NamedTuple, Generic[Row]):
    """G rings of R rows each, one after the other in the same arrays."""

    rows: Row
    """Arrays with a leading axis of G * R rows."""
    written: Int32[Array, " G"]
    """The number of rows that were ever written to each ring, including overwritten rows."""


def empty(row: Row, rings: int, size: int) -> Rings[Row]:
    """Rings without rows.

    Args:
        row: Any row: only its shapes and types matter.
        rings: The number of rings.
        size: The number of rows in each ring.
    """
    rows = jax.tree.map(lambda x: np.zeros((rings * size, *np.shape(x)), jnp.result_type(x)), row)
    return Rings(*jax.device_put((rows, np.zeros(rings, np.int32))))  # unlike `jnp.zeros`, it compiles nothing


def size_of(rings: Rings[Row]) -> int:
    """The number of rows in each ring."""
    rows: int = jax.tree.leaves(rings.rows)[0].shape[0]
    return rows // int(rings.written.shape[0])


def without_memories(state: Any) -> Any:
    """The state of an agent of any kind without its rings, which are large and not needed to act.

    Args:
        state: A tree of arrays, or of their shapes.
    """
    return jax.tree.map(
        lambda x: None if isinstance(x, Rings) else x, state, is_leaf=lambda x: isinstance(x, Rings)
    )  # fmt: skip


def write(rings: Rings[Row], rows: Row, ring: Int32[Array, " N"], when: Bool[Array, " N"]) -> Rings[Row]:
    """Writes N rows, each to its ring, in their order.

    Args:
        rings: The rings before.
        rows: Arrays with a leading axis of N rows.
        ring: The ring that each row is written to.
        when: The mask of the rows that are written.
    """
    size, count = size_of(rings), rings.written.shape[0]
    member = (ring[:, None] == jnp.arange(count)) & when[:, None]  # [N, G]
    # The number of earlier rows for the same ring, which take the positions before this row.
    rank = jnp.take_along_axis(jnp.cumsum(member, axis=0) - 1, ring[:, None], axis=1)[:, 0]
    position = ring * size + (rings.written[ring] + rank) % size
    position = jnp.where(when, position, count * size)  # out of range, where `mode="drop"` writes nothing
    put = lambda old, new: old.at[position].set(new.astype(old.dtype), mode="drop", unique_indices=True)  # noqa: E731
    return Rings(jax.tree.map(put, rings.rows, rows), rings.written + member.sum(axis=0, dtype=jnp.int32))


def latest(rings: Rings[Transition], count: int) -> tuple[Numbers, Numbers]:
    """Labels of the last steps in a single ring, and whether they were dead ends, as arrays of the host.

    Args:
        rings: A single ring.
        count: The largest number of steps that is returned.
    """
    size, written = size_of(rings), int(rings.written[0])
    count = min(count, size, written)
    # The number of rows is rounded up to a power of two, so that few programs are compiled.
    steps = np.arange(written - (1 << max(0, count - 1).bit_length()), written)
    label, is_dead_end = jax.tree.map(np.asarray, _rows_at(rings.rows, steps % size))
    return label[len(steps) - count :], is_dead_end[len(steps) - count :]


@jax.jit
def _rows_at(rows: Transition, index: Int32[Array, " K"]) -> tuple[UInt32[Array, "K W"], Bool[Array, " K"]]:
    return rows.label[index], rows.is_dead_end[index]


def sample(rings: Rings[Row], ring: Int32[Array, ""] | int, batch: int, key: PRNGKeyArray) -> Row:
    """Draws rows of one ring at random, with repetition; rows of zeros if nothing was written to it.

    Args:
        rings: The rings.
        ring: The ring that is drawn from.
        batch: The number of rows.
        key: The random key.
    """
    size = size_of(rings)
    filled = jnp.clip(rings.written[ring], 1, size)
    chosen = ring * size + jax.random.randint(key, (batch,), 0, filled)
    rows: Row = jax.tree.map(lambda x: x[chosen], rings.rows)
    return rows
