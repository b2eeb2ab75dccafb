"""Small functions on batches: rows are chosen by a mask, pairs by their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray


def draw_pairs(
    weight: Float[Array, "T I"], count: int, key: PRNGKeyArray
) -> tuple[Int32[Array, " N"], Int32[Array, " N"]]:
    """Samples pairs of a task and an instance with probabilities proportional to their weights.

    Args:
        weight: The weight of each pair; the weights need not sum to 1.
        count: The number of pairs, which are drawn independently.
        key: The random key.

    Returns:
        The numbers of the tasks, and those of the instances.
    """
    chosen = jax.random.categorical(key, jnp.log(weight.reshape(-1)), shape=(count,))
    return (chosen // weight.shape[1]).astype(jnp.int32), (chosen % weight.shape[1]).astype(jnp.int32)


@dataclass(frozen=True)
class TrainingInstances:
    """A range of instance numbers for training only, large enough that an instance is hardly ever drawn twice."""

    first: int
    count: int

    def draw(self, count: int, key: PRNGKeyArray) -> Int32[Array, " N"]:
        """Draws `count` instance numbers from a uniform distribution."""
        return jax.random.randint(key, (count,), self.first, self.first + self.count, jnp.int32)


def where_rows(mask: Bool[Array, " N"], one: Any, other: Any) -> Any:
    """The rows of the first batch where the mask is true, and those of the second where it is false.

    Args:
        mask: One truth value for each row.
        one: A tree of arrays with a leading axis of N rows.
        other: A tree of the same structure and shapes.
    """
    return jax.tree.map(lambda a, b: jnp.where(mask.reshape(-1, *[1] * (a.ndim - 1)), a, b), one, other)


def unless_stopped(is_going: Bool[Array, ""] | None, new: Any, old: Any) -> Any:
    """The new tree if the seed goes on, and the old one if it has stopped.

    Arrays that are the same in both are not selected from, because replay memories are large and would be copied.
    """
    if is_going is None:
        return new
    return jax.tree.map(lambda a, b: a if a is b else jnp.where(is_going, a, b), new, old)
