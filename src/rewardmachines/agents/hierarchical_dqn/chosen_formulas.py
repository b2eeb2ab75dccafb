"""The layout with a network for each formula: a sample of them is taken out of the bank, trained, and put back."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents.batches import unless_stopped
from rewardmachines.agents.double_dqn import Batch, Values, gradient, optimizer, slowed
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank, values
from rewardmachines.agents.loop_of_runs import IsGoing


def choose(bank: FormulaBank, active: Bool[Array, " K"], count: int, key: PRNGKeyArray) -> Int32[Array, " S"]:
    """Samples the Q-functions to train, without replacement; those with few updates are more likely.

    The largest logarithmic weights with Gumbel noise are such a sample. Unused Q-functions come last: they are returned
    only if fewer than `count` are in use.

    Args:
        bank: The Q-functions.
        active: The mask of Q-functions in use.
        count: The size of the sample.
        key: The random key.
    """
    weight = bank.rounds + 1 - bank.updates
    noise = jax.random.gumbel(key, active.shape)
    order = jnp.where(active, jnp.log(jnp.maximum(weight, 1).astype(jnp.float32)) + noise, -jnp.inf)
    return jax.lax.top_k(order, min(count, active.shape[0]))[1].astype(jnp.int32)


class Chosen(NamedTuple):
    """The networks of some Q-functions, taken out of a bank to learn."""

    online: Any
    optimizer: Any
    updates: Int32[Array, " S"]
    """Updates of each network when it was taken out."""


def take_out(networks: Any, slots: Int32[Array, " S"]) -> Any:
    """The networks of some Q-functions."""
    return jax.tree.map(lambda x: x[slots], networks)


def learn_chosen(
    config: HierarchicalDqnConfig, actions: int, chosen: Chosen, batch: Batch, following: Any, active: Bool[Array, " S"]
) -> tuple[Chosen, Float[Array, ""]]:
    """One update of each of the chosen networks, from the same transitions.

    Args:
        config: The agent's settings.
        actions: The number of actions of the environment.
        chosen: The networks before.
        batch: The transitions.
        following: Values of the next observations by the target networks.
        active: The mask of networks in use, whose loss is returned.

    Returns:
        The networks after the update, and the mean loss.
    """
    value_all: Values = partial(values, config.layout, actions)
    losses, slope = gradient(value_all, chosen.online, following, batch)
    rule = optimizer(config.optimizer, config.learning_rate)
    step, state = jax.vmap(rule.update)(slope, chosen.optimizer)
    loss = jnp.sum(jnp.where(active, losses, 0)) / jnp.maximum(active.sum(), 1)
    step = slowed(step, chosen.updates, config.halving_updates)
    return chosen._replace(online=eqx.apply_updates(chosen.online, step), optimizer=state), loss


def put_back(
    config: HierarchicalDqnConfig,
    bank: FormulaBank,
    slots: Int32[Array, " S"],
    chosen: Chosen,
    active: Bool[Array, " S"],
    times: int,
    is_going: IsGoing = None,
) -> FormulaBank:
    """The bank with trained Q-functions, and with their target networks updated where that is due.

    Args:
        config: The agent's settings.
        bank: The Q-functions before.
        slots: The Q-functions that were taken out.
        chosen: Their networks after learning.
        active: The mask of Q-functions in use; those not in use stay unchanged.
        times: The number of batches that they have learned from.
        is_going: Whether the run goes on; if not, the bank stays as it was.
    """
    if is_going is not None:
        active &= is_going
    updates = bank.updates[slots] + times
    is_due = updates // config.target_period > bank.updates[slots] // config.target_period
    nowhere = bank.updates.shape[0]  # out of range, where `mode="drop"` writes nothing

    def put(where: Array, old: Array, new: Array) -> Array:
        return old.at[where].set(new, mode="drop", unique_indices=True)

    learned = partial(put, jnp.where(active, slots, nowhere))
    renewed = partial(put, jnp.where(active & is_due, slots, nowhere))

    def followed(old: Array, new: Array) -> Array:
        """The target network after its moving average has followed the network for the given number of updates."""
        share = 1 - (1 - config.target_rate) ** times
        return learned(old, old[slots] + share * (new - old[slots]))

    return FormulaBank(
        online=jax.tree.map(learned, bank.online, chosen.online),
        target=jax.tree.map(followed if config.target_rate else renewed, bank.target, chosen.online),
        optimizer=jax.tree.map(learned, bank.optimizer, chosen.optimizer),
        updates=learned(bank.updates, updates),
        steps=bank.steps,
        rounds=unless_stopped(is_going, bank.rounds + times, bank.rounds),
    )
