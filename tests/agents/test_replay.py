"""Rings of experiences: what they keep, and what is drawn from them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agents.formula_bank import KEY
from rewardmachines.agents import replay

WRITE = jax.jit(replay.write)


@given(
    writes=st.lists(
        st.lists(st.tuples(st.integers(0, 1), st.booleans()), min_size=3, max_size=3), min_size=1, max_size=6
    )
)
def test_rings_keep_the_last_rows_that_were_not_masked(writes: list[list[tuple[int, bool]]]) -> None:
    size = 5
    rings = replay.empty(jnp.int32(0), 2, size)
    kept: list[list[int]] = [[], []]
    number = 0
    for rows in writes:
        values = [number + i for i in range(3)]
        number += 3
        ring, when = (np.array(part) for part in zip(*rows, strict=True))
        rings = WRITE(rings, np.array(values, np.int32), ring.astype(np.int32), when)
        for value, (to, is_kept) in zip(values, rows, strict=True):
            kept[to] += [value] if is_kept else []
    assert rings.written.tolist() == [len(part) for part in kept]
    for to, part in enumerate(kept):
        stored = rings.rows[to * size : to * size + min(len(part), size)].tolist()
        assert sorted(stored) == sorted(part[-size:])


def test_rows_are_drawn_from_what_was_written_to_the_ring() -> None:
    rings = replay.empty(jnp.int32(0), 2, 10)
    rings = WRITE(rings, np.array([7, 8, 9], np.int32), np.array([1, 1, 0], np.int32), np.ones(3, bool))
    assert set(replay.sample(rings, 1, 50, KEY).tolist()) == {7, 8}
    assert set(replay.sample(rings, 0, 50, KEY).tolist()) == {9}


def test_rows_of_a_full_ring_are_drawn_alike_wherever_they_are() -> None:
    """Ring 1 was written to one and a half times: its 16 rows are the last ones, each drawn about as often."""
    size, written = 16, 24
    rings = replay.empty(jnp.int32(0), 2, size)
    rings = WRITE(rings, np.arange(written, dtype=np.int32), np.ones(written, np.int32), np.arange(written) < size)
    rings = WRITE(rings, np.arange(written, dtype=np.int32), np.ones(written, np.int32), np.arange(written) >= size)
    drawn, counts = np.unique(replay.sample(rings, 1, 100 * size, KEY), return_counts=True)
    assert drawn.tolist() == list(range(written - size, written))
    assert counts.min() > 50
    assert counts.max() < 150
