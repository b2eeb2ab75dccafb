"""The loop of several runs does for each what it does for one, and writes nothing where a run is done."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Array, Bool, Float, Int32

from rewardmachines.agents.loop_of_runs import IsGoing, loop_of_runs, once_if


class Collatz(NamedTuple):
    number: Int32[Array, ""]
    turns: Int32[Array, ""]
    path: Float[Array, " P"]
    """The numbers on the way to 1, scaled."""


def is_going(now: Collatz) -> Bool[Array, ""]:
    return now.number > 1


def turn(scale: Float[Array, ""], now: Collatz, goes: IsGoing) -> Collatz:
    after = jnp.where(now.number % 2 == 0, now.number // 2, 3 * now.number + 1)
    where = now.turns if goes is None else jnp.where(goes, now.turns, now.path.shape[0])
    made = after, now.turns + 1
    number, turns = made if goes is None else (jnp.where(goes, a, b) for a, b in zip(made, now[:2], strict=True))
    return Collatz(number, turns, now.path.at[where].set(scale * after, mode="drop"))


def walk(scale: Float[Array, ""], number: Int32[Array, ""]) -> Collatz:
    return loop_of_runs(is_going, turn, scale, Collatz(number, jnp.int32(0), jnp.zeros(128)))


def reference(scale: float, number: int) -> tuple[int, list[float]]:
    path = []
    while number > 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        path.append(scale * number)
    return len(path), path


alone = jax.jit(walk)
together = jax.jit(jax.vmap(walk, in_axes=(None, 0)))
each_its_own = jax.jit(jax.vmap(walk))


@given(st.lists(st.integers(1, 60), min_size=4, max_size=4), st.lists(st.integers(1, 9), min_size=4, max_size=4))
def test_runs_together_do_what_each_does_alone(numbers: list[int], scales: list[int]) -> None:
    starts, own = jnp.asarray(numbers, jnp.int32), jnp.asarray(scales, jnp.float32)
    for ends, factors in ((together(own[0], starts), [scales[0]] * 4), (each_its_own(own, starts), scales)):
        for run, (number, scale) in enumerate(zip(numbers, factors, strict=True)):
            turns, path = reference(scale, number)
            assert (int(ends.number[run]), int(ends.turns[run])) == (1, turns)
            assert ends.path[run, :turns].tolist() == path
            assert not np.asarray(ends.path[run, turns:]).any()
    single = alone(own[0], starts[0])
    assert single.path[: int(single.turns)].tolist() == reference(scales[0], numbers[0])[1]


def test_nothing_of_a_loop_is_selected_from_under_vmap() -> None:
    """Only what a turn selects itself, which are numbers: never whole arrays that it writes to."""
    text = together.lower(jnp.float32(1), jnp.arange(1, 5, dtype=jnp.int32)).as_text()
    assert not [line for line in text.splitlines() if "stablehlo.select" in line and "4x128x" in line]
    plain = jax.vmap(lambda n: jax.lax.while_loop(is_going, lambda now: turn(jnp.float32(1), now, None), n))
    start = Collatz(jnp.arange(1, 5, dtype=jnp.int32), jnp.zeros(4, jnp.int32), jnp.zeros((4, 128)))
    copied = jax.jit(plain).lower(start).as_text()
    assert [line for line in copied.splitlines() if "stablehlo.select" in line and "4x128x" in line]


def add_if_it_goes_on(given: Float[Array, ""], now: Float[Array, ""], goes: IsGoing) -> Float[Array, ""]:
    return now + (given if goes is None else jnp.where(goes, given, 0))


@pytest.mark.parametrize("ready", [True, False])
def test_something_is_done_once_if_it_is_ready(ready: bool) -> None:
    once = jax.jit(lambda when: once_if(when, add_if_it_goes_on, jnp.float32(2), jnp.float32(3)))
    assert float(once(ready)) == (5 if ready else 3)
    assert float(once_if(ready, add_if_it_goes_on, jnp.float32(2), jnp.float32(3))) == (5 if ready else 3)


def test_of_several_runs_something_is_done_for_those_that_are_ready() -> None:
    def one(when: Bool[Array, ""], given: Float[Array, ""], now: Float[Array, ""]) -> Float[Array, ""]:
        return once_if(when, add_if_it_goes_on, given, now)

    each = jax.vmap(one, in_axes=(0, 0, None))
    when, given = jnp.array([True, False, True]), jnp.array([1.0, 2.0, 3.0])
    assert each(when, given, jnp.float32(10)).tolist() == [11, 10, 13]
    assert each(jnp.zeros(3, bool), given, jnp.float32(10)).tolist() == [10] * 3
