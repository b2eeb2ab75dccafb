"""Targets, losses and updates of Double DQN, computed by hand."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from rewardmachines.agents import double_dqn
from rewardmachines.agents.config import EpsilonSchedule
from rewardmachines.agents.double_dqn import Batch


def table(networks: Any, inputs: Any) -> Any:
    """A network that is a table of values."""
    return networks[inputs]


def test_the_online_network_chooses_and_the_target_network_values() -> None:
    online = jnp.array([[0.0, 0.0], [1.0, 2.0], [5.0, 1.0]])
    target = jnp.array([[0.0, 0.0], [30.0, 40.0], [50.0, 60.0]])
    batch = Batch(
        inputs=jnp.array([0, 0, 0]),
        action=jnp.array([0, 1, 1]),
        reward=jnp.array([1.0, 0.5, 0.0]),
        discount=jnp.array([0.9, 0.1, 0.0]),
        next_inputs=jnp.array([1, 2, 2]),
        next_allowed=jnp.ones((1, 1), bool),
    )
    found = double_dqn.targets(table, online, table(target, batch.next_inputs), batch)
    assert found.tolist() == pytest.approx([1 + 0.9 * 40, 0.5 + 0.1 * 50, 0.0])


def test_what_is_not_allowed_is_not_chosen_next() -> None:
    online, target = jnp.array([[1.0, 9.0]]), jnp.array([[3.0, 7.0]])
    batch = Batch(
        inputs=jnp.array([0]),
        action=jnp.array([0]),
        reward=jnp.array([0.0]),
        discount=jnp.array([1.0]),
        next_inputs=jnp.array([0]),
        next_allowed=jnp.array([[True, False]]),
    )
    assert double_dqn.targets(table, online, table(target, batch.next_inputs), batch).tolist() == [3.0]


def test_the_loss_is_the_mean_square_of_what_the_action_taken_is_off() -> None:
    online = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    batch = Batch(
        inputs=jnp.array([0, 1]),
        action=jnp.array([1, 0]),
        reward=jnp.array([0.0, 1.0]),
        discount=jnp.array([0.0, 0.0]),
        next_inputs=jnp.array([0, 0]),
        next_allowed=jnp.ones((1, 1), bool),
    )
    losses, slope = double_dqn.gradient(table, online, table(online, batch.next_inputs), batch)
    assert float(losses) == pytest.approx((2**2 + 2**2) / 2)
    assert slope.tolist() == [[0.0, 2.0], [2.0, 0.0]]  # 2 (q - y) / B


def test_rmsprop_is_that_of_pytorch() -> None:
    """v ← 0.99 v + 0.01 g², w ← w - α g / (√v + 1e-8)."""
    rule = double_dqn.optimizer("rmsprop", 0.01)
    weight, square = 1.0, 0.0
    parameter = jnp.float32(weight)
    state = rule.init(parameter)
    for slope in (0.5, -2.0, 1e-4):
        step, state = rule.update(jnp.float32(slope), state)
        parameter = parameter + step
        square = 0.99 * square + 0.01 * slope**2
        weight -= 0.01 * slope / (np.sqrt(square) + 1e-8)
        assert float(parameter) == pytest.approx(weight, rel=1e-6)


def test_exploration_goes_down_in_a_line_and_stays_there() -> None:
    done = jnp.array([0, 50, 100, 10_000])
    assert double_dqn.exploration(done, EpsilonSchedule(1.0, 0.1, 100)).tolist() == pytest.approx([1.0, 0.55, 0.1, 0.1])
