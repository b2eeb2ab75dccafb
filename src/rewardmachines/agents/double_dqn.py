"""Double DQN, for several Q-functions at once: the online network picks the next action, the target values it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents.config import EpsilonSchedule

NO_ACTION: Final = -1
"""The previous action at the first step of an episode."""

Values = Callable[[Any, Any], Float[Array, "... B A"]]
"""A function of parameters and a batch of inputs to the values of all actions."""


class Batch(NamedTuple):
    """B transitions. With S Q-functions that learn at once, each has rewards and discounts of its own."""

    inputs: Any
    """The inputs of the Q-functions before the action."""
    action: Int32[Array, " B"]
    reward: Float[Array, "*S B"]
    discount: Float[Array, "*S B"]
    """The discount of the next value; 0 at an end of the episode or option."""
    next_inputs: Any
    """The inputs of the Q-functions after the action."""
    next_allowed: Bool[Array, "#B #A"]
    """Actions that are allowed next; a single truth value holds for all actions."""


def optimizer(name: str, learning_rate: float) -> optax.GradientTransformation:
    """An optimizer by its name. RMSprop has the constants of PyTorch, which the paper used.

    Args:
        name: `adam` or `rmsprop`.
        learning_rate: The size of its steps.
    """
    if name == "adam":
        return optax.adam(learning_rate)
    return optax.rmsprop(learning_rate, decay=0.99, eps=1e-8, eps_in_sqrt=False)


def targets(values: Values, online: Any, following: Float[Array, "*S B A"], batch: Batch) -> Float[Array, "*S B"]:
    """The targets of double Q-learning: the online network picks the next action, the target network values it.

    Args:
        values: Evaluates the networks.
        online: Parameters of the online network.
        following: Values of the next inputs by the target network.
        batch: The transitions.
    """
    choosing = jnp.where(batch.next_allowed, values(online, batch.next_inputs), -jnp.inf)
    best = jnp.argmax(choosing, axis=-1, keepdims=True)
    return batch.reward + batch.discount * jnp.take_along_axis(following, best, axis=-1)[..., 0]


def _of_action(values: Float[Array, "*S B A"], action: Int32[Array, " B"]) -> Float[Array, "*S B"]:
    where = jnp.broadcast_to(action[:, None], (*values.shape[:-1], 1))
    return jnp.take_along_axis(values, where, axis=-1)[..., 0]


def loss(values: Values, online: Any, goal: Float[Array, "*S B"], batch: Batch) -> Float[Array, "*S"]:
    """The mean squared error of each Q-function.

    Args:
        values: Evaluates the networks.
        online: Parameters of the online network.
        goal: The target values of the chosen actions.
        batch: The transitions.
    """
    chosen = _of_action(values(online, batch.inputs), batch.action)
    return jnp.mean(jnp.square(chosen - goal), axis=-1)


def gradient(
    values: Values, online: Any, following: Any, batch: Batch, weight: Float[Array, "*S"] | float = 1.0
) -> tuple[Float[Array, "*S"], Any]:
    """The gradient of the weighted sum of the losses.

    Args:
        values: Evaluates the networks.
        online: Parameters of the online network.
        following: Values of the next inputs by the target network.
        batch: The transitions.
        weight: The weight of each Q-function's loss: 0 for those that are not to learn.

    Returns:
        The loss of each Q-function, and the gradient with respect to the parameters.
    """
    goal = jax.lax.stop_gradient(targets(values, online, following, batch))

    def total(parameters: Any) -> tuple[Float[Array, ""], Float[Array, "*S"]]:
        losses = loss(values, parameters, goal, batch)
        return jnp.sum(weight * losses), losses

    (_, losses), slope = jax.value_and_grad(total, has_aux=True)(online)
    return losses, slope


def slowed(step: Any, updates: Int32[Array, "*S"], halving_updates: int) -> Any:
    """An update of the weights, scaled by a learning rate that falls with the number of updates.

    Args:
        step: The optimizer's update. With several Q-functions, their axis is the first.
        updates: The number of earlier updates of each Q-function.
        halving_updates: Updates after which the learning rate has halved; 0 for a constant learning rate.
    """
    if not halving_updates:
        return step
    share = 1 / (1 + updates / halving_updates)
    return jax.tree.map(lambda x: x * share.reshape(*share.shape, *[1] * (x.ndim - share.ndim)), step)


def exploration(done: Int32[Array, "*N"] | Float[Array, "*N"], schedule: EpsilonSchedule) -> Float[Array, "*N"]:
    """The probability of a random choice, which falls linearly from the first to the last.

    Args:
        done: The number of choices so far.
        schedule: The first and the last probability, and the choices between them.
    """
    return schedule.first + (schedule.last - schedule.first) * jnp.clip(done / schedule.steps, 0.0, 1.0)


def persistent(
    random: Int32[Array, " N"], held: Int32[Array, " N"], persistence: float, key: PRNGKeyArray
) -> Int32[Array, " N"]:
    """Random actions, some of which repeat the previous actions.

    Args:
        random: Actions that were sampled independently.
        held: The previous actions; NO_ACTION at the first step of an episode.
        persistence: The probability that an action is repeated.
        key: The key that the actions were drawn with: another is made of it.
    """
    repeats = jax.random.uniform(jax.random.fold_in(key, 1), held.shape) < persistence
    return jnp.where(repeats & (held != NO_ACTION), held, random)
