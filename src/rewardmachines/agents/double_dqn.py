"""Double DQN, for several Q-functions at once: the online network picks the next action, the target values it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int32

Values = Callable[[Any, Any], Float[Array, "... B A"]]
"""Parameters and inputs to the values of a batch."""


class Batch(NamedTuple):
    """What is learned from. Rewards and discounts may differ between Q-functions, S of them or none."""

    inputs: Any
    action: Int32[Array, " B"]
    reward: Float[Array, "*S B"]
    discount: Float[Array, "*S B"]
    """0 where nothing follows."""
    next_inputs: Any
    next_allowed: Bool[Array, "#B #A"]


def optimizer(name: str, learning_rate: float) -> optax.GradientTransformation:
    """RMSprop is PyTorch's."""
    if name == "adam":
        return optax.adam(learning_rate)
    return optax.rmsprop(learning_rate, decay=0.99, eps=1e-8, eps_in_sqrt=False)


def targets(values: Values, online: Any, following: Float[Array, "*S B A"], batch: Batch) -> Float[Array, "*S B"]:
    """`following` is what the target network says of what comes next."""
    choosing = jnp.where(batch.next_allowed, values(online, batch.next_inputs), -jnp.inf)
    best = jnp.argmax(choosing, axis=-1, keepdims=True)
    return batch.reward + batch.discount * jnp.take_along_axis(following, best, axis=-1)[..., 0]


def loss(values: Values, online: Any, goal: Float[Array, "*S B"], batch: Batch) -> Float[Array, "*S"]:
    """The mean squared error of each Q-function."""
    all_values = values(online, batch.inputs)
    action = jnp.broadcast_to(batch.action[:, None], (*all_values.shape[:-1], 1))
    chosen = jnp.take_along_axis(all_values, action, axis=-1)[..., 0]
    return jnp.mean(jnp.square(chosen - goal), axis=-1)


def gradient(
    values: Values, online: Any, following: Any, batch: Batch, weight: Float[Array, "*S"] | float = 1.0
) -> tuple[Float[Array, "*S"], Any]:
    """Of the weighted sum of the losses; returns the losses, too. `following` as for `targets`."""
    goal = jax.lax.stop_gradient(targets(values, online, following, batch))

    def total(parameters: Any) -> tuple[Float[Array, ""], Float[Array, "*S"]]:
        losses = loss(values, parameters, goal, batch)
        return jnp.sum(weight * losses), losses

    (_, losses), slope = jax.value_and_grad(total, has_aux=True)(online)
    return losses, slope


def exploration(
    done: Int32[Array, "*N"] | Float[Array, "*N"], annealing: int, first: float, last: float
) -> Float[Array, "*N"]:
    """Linear from first to last."""
    return first + (last - first) * jnp.clip(done / annealing, 0.0, 1.0)
