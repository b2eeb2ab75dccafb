"""Steps that cost something: values fall evenly with the distance from the goal, and never below 0."""

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

STATES = 6
COST = 0.25
"""So large that goals which are five steps away are worth nothing."""


def _table(values: Float[Array, "1 N A"], states: Int32[Array, " B"]) -> Float[Array, "1 B A"]:
    return values[:, states]


@partial(jax.jit, static_argnums=2)
def _settled(after: Int32[Array, "N A"], goal: Int32[Array, ""], cost: float) -> Float[Array, "N A"]:
    """The values of all actions when updates change nothing any more; one step leads from states to states."""
    config = settings(step_cost=cost, discount=1.0)
    reached = after.reshape(-1) == goal
    batch = Batch(
        inputs=jnp.zeros(2 * STATES, jnp.int32),
        action=jnp.zeros(2 * STATES, jnp.int32),
        reward=jnp.where(reached, 1.0, -cost)[None],
        discount=jnp.where(reached, 0.0, 1.0)[None],
        next_inputs=after.reshape(-1),
        next_allowed=jnp.ones((1, 1), bool),
    )

    def again(_: int, values: Float[Array, "1 N A"]) -> Float[Array, "1 N A"]:
        following = formula_q.bounded(config, _table(values, batch.next_inputs))
        return targets(_table, values, following, batch).reshape(values.shape)

    settled: Float[Array, "1 N A"] = jax.lax.fori_loop(0, 50, again, jnp.zeros((1, STATES, 2)))
    return settled[0]


def _steps_to_goal(moves: np.ndarray, goal: int) -> np.ndarray:
    """How many steps it takes to reach the goal from each state, if one of two actions is taken first."""
    steps = np.full(moves.shape, np.inf)
    for _ in range(moves.size):
        steps = np.where(moves == goal, 1, 1 + steps.min(axis=1)[moves])
    return steps


@given(st.lists(st.integers(0, STATES - 1), min_size=2 * STATES, max_size=2 * STATES), st.integers(0, STATES - 1))
def test_values_are_what_the_shortest_way_leaves(after: list[int], goal: int) -> None:
    moves = np.array(after, np.int32).reshape(STATES, 2)
    steps = _steps_to_goal(moves, goal)
    assert np.allclose(_settled(moves, goal, COST), np.maximum(0, 1 - COST * (steps - 1)), atol=1e-5)


@pytest.mark.parametrize("layout", Layout)
def test_steps_cost_where_formulas_are_not_satisfied_and_episodes_go_on(layout: Layout) -> None:
    rows = some_rows()
    free, dear = (
        formula_q.batch_for(config, TASK.options, rows, rows.before, rows.after, jnp.arange(SLOTS))
        for config in (settings(layout=layout), settings(layout=layout, step_cost=COST))
    )
    goes_on = np.asarray(free.discount) > 0
    assert goes_on.any()
    assert not goes_on.all()
    assert np.array_equal(np.asarray(free.reward - dear.reward), np.where(goes_on, np.float32(COST), 0))
    assert np.array_equal(free.discount, dear.discount)


@pytest.mark.parametrize("layout", Layout)
def test_both_layouts_learn_other_values_from_equal_steps(layout: Layout) -> None:
    def learned(cost: float) -> list[np.ndarray]:
        config = settings(layout=layout, step_cost=cost, updates=2, batch=4)
        agent: Any = SimpleNamespace(config=config, actions=ACTIONS, recall=lambda world, memory: memory)
        given = learning._Given(TASK, Rings(some_rows(), jnp.array([4])), KEY)
        after, _ = learning._learn_formulas(agent, given, (bank(config), jnp.float32(0)), None)
        return [np.asarray(x) for x in jax.tree.leaves(after.online)]

    plain, dear = learned(0.0), learned(0.5)
    assert any((one != other).any() for one, other in zip(plain, dear, strict=True))


def test_what_cannot_be_is_refused() -> None:
    for cost in (-0.1, 1.0):
        with pytest.raises(RewardMachineError, match="step cost"):
            settings(step_cost=cost)
    with pytest.raises(RewardMachineError, match="only without rewards of the environment"):
        settings(step_cost=0.1, environment_reward=1.0)
    with pytest.raises(RewardMachineError, match="discount"):
        settings(discount=1.0)
    assert settings(discount=1.0, step_cost=0.1).discount == 1
