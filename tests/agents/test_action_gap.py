"""Advantage learning: the best action stays the best, and what the others lack to it grows."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Array, Float, Int32

from agents.formula_bank import ACTIONS, KEY, SLOTS, TASK, bank, settings, some_rows
from rewardmachines.agents.config import Layout
from rewardmachines.agents.double_dqn import Batch, targets
from rewardmachines.agents.hierarchical_dqn import formula_q, learning
from rewardmachines.agents.replay import Rings
from rewardmachines.core.errors import RewardMachineError

STATES = 4
DISCOUNT = 0.8


def _table(values: Float[Array, "1 N A"], states: Int32[Array, " B"]) -> Float[Array, "1 B A"]:
    return values[:, states]


@partial(jax.jit, static_argnums=2)
def _settled(after: Int32[Array, "N A"], goal: Int32[Array, ""], gap: float) -> Float[Array, "N A"]:
    """The values of all actions when updates change nothing any more; one step leads from states to states."""
    config = settings(action_gap=gap)
    states, actions = (jnp.asarray(x.reshape(-1)) for x in np.indices((STATES, 2)))
    reached = after.reshape(-1) == goal
    batch = Batch(
        inputs=states,
        action=actions,
        reward=reached[None].astype(jnp.float32),
        discount=jnp.where(reached, 0, DISCOUNT)[None],
        next_inputs=after.reshape(-1),
        next_allowed=jnp.ones((1, 1), bool),
    )

    def again(_: int, values: Float[Array, "1 N A"]) -> Float[Array, "1 N A"]:
        less = formula_q.with_action_gap(config, batch, _table(values, states))
        return targets(_table, values, _table(values, batch.next_inputs), less).reshape(values.shape)

    settled: Float[Array, "1 N A"] = jax.lax.fori_loop(0, 400, again, jnp.zeros((1, STATES, 2)))
    return settled[0]


@given(
    st.lists(st.integers(0, STATES - 1), min_size=2 * STATES, max_size=2 * STATES),
    st.integers(0, STATES - 1),
    st.sampled_from([0.3, 0.5, 0.9]),
)
def test_the_best_value_stays_and_the_distance_from_it_grows(after: list[int], goal: int, gap: float) -> None:
    moves = np.array(after, np.int32).reshape(STATES, 2)
    plain, apart = (np.asarray(_settled(moves, goal, each)) for each in (0.0, gap))
    best = plain.max(axis=1, keepdims=True)
    assert np.allclose(apart.max(axis=1, keepdims=True), best, atol=1e-4)
    assert np.allclose(best - apart, (best - plain) / (1 - gap), atol=1e-3)


@pytest.mark.parametrize("layout", Layout)
def test_steps_with_the_best_action_are_worth_what_they_were(layout: Layout) -> None:
    config = settings(layout=layout, action_gap=0.5)
    now, rows = bank(config), some_rows()
    batch = formula_q.batch_for(config, TASK.options, rows, rows.before, rows.after, jnp.arange(SLOTS))
    present = formula_q.values(layout, ACTIONS, now.target, rows.before)
    less = formula_q.with_action_gap(config, batch, present)
    chosen = np.take_along_axis(np.asarray(present), np.asarray(rows.action)[None, :, None], -1)[..., 0]
    lost = np.asarray(batch.reward - less.reward)
    assert np.allclose(lost, 0.5 * (np.asarray(present).max(axis=-1) - chosen), atol=1e-6)
    assert (lost >= 0).all()
    assert (lost > 0).any()


@pytest.mark.parametrize("layout", Layout)
def test_both_layouts_learn_other_values_from_equal_steps(layout: Layout) -> None:
    def learned(gap: float) -> list[np.ndarray]:
        config = settings(layout=layout, action_gap=gap, updates=2, batch=4)
        agent: Any = SimpleNamespace(config=config, actions=ACTIONS, recall=lambda world, memory: memory)
        given = learning._Given(TASK, Rings(some_rows(), jnp.array([4])), KEY)
        after, _ = learning._learn_formulas(agent, given, (bank(config), jnp.float32(0)), None)
        return [np.asarray(x) for x in jax.tree.leaves(after.online)]

    plain, apart = learned(0.0), learned(0.5)
    assert any((one != other).any() for one, other in zip(plain, apart, strict=True))


def test_gaps_out_of_range_are_refused() -> None:
    for gap in (-0.1, 1.0):
        with pytest.raises(RewardMachineError, match="action gap"):
            settings(action_gap=gap)
