"""Programs that are compiled before they are needed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from rewardmachines.rollout.compile_ahead import CompiledProgram


def test_a_program_that_is_expected_is_traced_once() -> None:
    traced = []

    def double(x: jax.Array) -> jax.Array:
        traced.append(x.shape)
        return 2 * x

    program = CompiledProgram(double)
    program.expect(jnp.ones(3))
    assert program.is_expected
    assert program(jnp.arange(3.0)).tolist() == [0, 2, 4]
    assert program(jnp.ones(3)).tolist() == [2, 2, 2]
    assert traced == [(3,)]


def test_what_was_not_expected_is_compiled_when_it_comes() -> None:
    program = CompiledProgram(lambda x: 2 * x)
    program.expect(jnp.ones(3))
    assert program(jnp.ones(5)).tolist() == [2] * 5
    assert program(jnp.ones(3)).tolist() == [2] * 3
    assert program({"a": jnp.ones(1)}["a"]).tolist() == [2]


def test_what_is_donated_is_given_away_when_it_was_expected_and_when_not() -> None:
    for expected in (3, 5):
        program = CompiledProgram(lambda x: x + 1, donate=[0])
        program.expect(jnp.ones(expected))
        given = jnp.ones(3)
        assert program(given).tolist() == [2] * 3
        assert given.is_deleted()


def test_a_mistake_in_a_program_is_told_where_it_is_expected() -> None:
    program = CompiledProgram(lambda x: x @ jnp.ones(2))
    with pytest.raises(TypeError, match="dot_general"):
        program.expect(jnp.ones(3))
