"""The Q-functions of formulas, which value actions by how soon they make a formula true.

All learn from the same steps, whichever option acted: a step satisfies some formulas and not others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents.batches import unless_stopped
from rewardmachines.agents.config import Layout
from rewardmachines.agents.double_dqn import Batch, Values, gradient, optimizer
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.lookahead import Ahead, worth
from rewardmachines.agents.loop_of_runs import IsGoing
from rewardmachines.agents.networks import Chance, Network, put_into, single, stacked
from rewardmachines.agents.options.tables import OptionTables
from rewardmachines.agents.replay import Transition
from rewardmachines.lowered.formula import holds


class FormulaBank(NamedTuple):
    """K Q-functions. Networks are stacked along a leading axis, or there is one with K heads."""

    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, " K"]
    """Batches that each has learned from."""
    steps: Int32[Array, " K"]
    """Steps that were taken with each policy, while exploring."""
    rounds: Int32[Array, ""]
    """Batches that any of them has learned from."""


def fresh_networks(
    config: HierarchicalDqnConfig, slots: int, shape: tuple[int, ...], actions: int, chance: Chance
) -> Any:
    """Networks that know nothing yet: one with a head for each slot, or one for each slot.

    Args:
        config: The agent's settings.
        slots: How many Q-functions there are.
        shape: The shape of an observation.
        actions: How many actions the environment has.
        chance: Draws the weights.
    """
    if config.layout is Layout.SHARED:
        return single(Network(config.network, shape, 0, slots * actions, chance))
    return stacked([Network(config.network, shape, 0, actions, chance) for _ in range(slots)])


def create(
    config: HierarchicalDqnConfig, slots: int, shape: tuple[int, ...], actions: int, chance: Chance
) -> FormulaBank:
    """Q-functions that know nothing yet. Arguments as for `fresh_networks`."""
    online = fresh_networks(config, slots, shape, actions, chance)
    rule = optimizer(config.optimizer, config.learning_rate)
    state = rule.init(online) if config.layout is Layout.SHARED else jax.vmap(rule.init)(online)
    nothing = jax.device_put(np.zeros(slots, np.int32))
    return FormulaBank(
        online=online,
        target=jax.device_put(online, may_alias=False),
        optimizer=state,
        updates=nothing,
        steps=nothing,
        rounds=jnp.int32(0),
    )


def renewed(
    config: HierarchicalDqnConfig,
    bank: FormulaBank,
    slots: Sequence[int],
    shape: tuple[int, ...],
    actions: int,
    chance: Chance,
) -> FormulaBank:
    """The bank with fresh Q-functions in some slots. Of a shared network, only their heads are new.

    Args:
        config: The agent's settings.
        bank: The Q-functions before.
        slots: The Q-functions that are to know nothing.
        shape: The shape of an observation.
        actions: How many actions the environment has.
        chance: Draws the weights.
    """
    count = bank.updates.shape[0]
    fresh = fresh_networks(config, count, shape, actions, chance)
    chosen = np.asarray(slots)
    heads = (chosen[:, None] * actions + np.arange(actions)).reshape(-1)

    def put(old: Array, new: Array | None = None) -> Array:
        """The old array with the slots of a new network in it, or zeros for an optimizer that has seen nothing."""
        where: Any = chosen
        if config.layout is Layout.SHARED:
            if not old.ndim or old.shape[-1] != count * actions:
                return old  # part of the body, which all share
            where = (..., heads)
        return put_into(old, where, 0 if new is None else np.asarray(new)[where])

    return FormulaBank(
        online=jax.tree.map(put, bank.online, fresh),
        target=jax.tree.map(put, bank.target, fresh),
        optimizer=jax.tree.map(put, bank.optimizer),
        updates=put_into(bank.updates, chosen, 0),
        steps=put_into(bank.steps, chosen, 0),
        rounds=bank.rounds,
    )


def values(layout: Layout, actions: int, networks: Any, observations: Float[Array, "B ..."]) -> Float[Array, "K B A"]:
    """The values of A actions for B observations, by each of the K Q-functions of these networks."""
    if layout is Layout.SHARED:
        all_values = networks(observations)
        return jnp.moveaxis(all_values.reshape(len(observations), -1, actions), 1, 0)
    stacked_values: Float[Array, "K B A"] = jax.vmap(lambda network: network(observations))(networks)
    return stacked_values


def batch_for(
    config: HierarchicalDqnConfig,
    options: OptionTables,
    rows: Transition,
    before: Any,
    after: Any,
    slots: Int32[Array, " S"],
    expected: Ahead | None = None,
) -> Batch:
    """Steps as transitions: for each Q-function the reward is 1 where its formula is satisfied, and nothing follows.

    Args:
        config: The agent's settings.
        options: The formulas.
        rows: The steps.
        before: Observations of the moments before them.
        after: Observations of the moments after them.
        slots: The S Q-functions that learn.
        expected: What is to be expected after the steps, if options look ahead.
    """
    satisfied = jax.vmap(lambda label: holds(options.slot_required[slots], options.slot_forbidden[slots], label))(
        rows.label
    ).T  # [S, B]
    if config.event_rewards:
        satisfied &= rows.is_event
    discount = jnp.where(satisfied | rows.is_dead_end, 0.0, config.discount)
    reward = satisfied.astype(jnp.float32)
    if expected is not None:
        reward *= worth(config.lookahead, options, expected, after, slots)
    if rows.reward is not None:
        reward += rows.reward  # what the environment pays does not depend on the formula
    return Batch(
        inputs=before,
        action=rows.action,
        reward=reward,
        discount=discount,
        next_inputs=after,
        next_allowed=jnp.ones((1, 1), bool),
    )


def choose(bank: FormulaBank, active: Bool[Array, " K"], count: int, key: PRNGKeyArray) -> Int32[Array, " S"]:
    """Draws the Q-functions that are to learn, without repetition; those that have learned seldom are more likely.

    The largest of logarithmic weights with Gumbel noise are such a draw. Those not in use come last: they are returned
    only if fewer are in use than are asked for.

    Args:
        bank: The Q-functions.
        active: Which of them are in use.
        count: How many are drawn.
        key: Draws them.
    """
    weight = bank.rounds + 1 - bank.updates
    noise = jax.random.gumbel(key, active.shape)
    order = jnp.where(active, jnp.log(jnp.maximum(weight, 1).astype(jnp.float32)) + noise, -jnp.inf)
    return jax.lax.top_k(order, min(count, active.shape[0]))[1].astype(jnp.int32)


def learn_shared(
    config: HierarchicalDqnConfig,
    actions: int,
    bank: FormulaBank,
    options: OptionTables,
    rows: Transition,
    before: Any,
    after: Any,
    calls: Any = None,
) -> tuple[FormulaBank, Float[Array, ""]]:
    """One update of a shared network, from the losses of all heads in use.

    Args:
        config: The agent's settings.
        actions: How many actions the environment has.
        bank: The Q-functions before.
        options: The formulas.
        rows: The steps that are learned from.
        before: Observations of the moments before them.
        after: Observations of the moments after them.
        calls: The networks of machines, if options look ahead.

    Returns:
        The Q-functions after the update, and the mean loss.
    """
    slots = jnp.arange(bank.updates.shape[0])
    value_all: Values = partial(values, config.layout, actions)
    following = value_all(bank.target, after)
    expected = None if calls is None else Ahead(following.max(axis=-1), calls)
    batch = batch_for(config, options, rows, before, after, slots, expected)
    weight = options.is_active.astype(jnp.float32)
    losses, slope = gradient(value_all, bank.online, following, batch, weight)
    step, state = optimizer(config.optimizer, config.learning_rate).update(slope, bank.optimizer)
    online = eqx.apply_updates(bank.online, step)
    rounds = bank.rounds + 1
    is_due = rounds % config.target_period == 0
    target = jax.tree.map(lambda new, old: jnp.where(is_due, new, old), online, bank.target)
    updates = bank.updates + options.is_active
    learned = FormulaBank(
        online=online, target=target, optimizer=state, updates=updates, steps=bank.steps, rounds=rounds
    )
    return learned, jnp.sum(weight * losses) / jnp.maximum(weight.sum(), 1)


class Chosen(NamedTuple):
    """The networks of some Q-functions, taken out of a bank to learn."""

    online: Any
    optimizer: Any


def take_out(networks: Any, slots: Int32[Array, " S"]) -> Any:
    """The networks of some Q-functions."""
    return jax.tree.map(lambda x: x[slots], networks)


def learn_chosen(
    config: HierarchicalDqnConfig, actions: int, chosen: Chosen, batch: Batch, following: Any, active: Bool[Array, " S"]
) -> tuple[Chosen, Float[Array, ""]]:
    """One update of each of the chosen networks, from the same transitions.

    Args:
        config: The agent's settings.
        actions: How many actions the environment has.
        chosen: The networks before.
        batch: The transitions.
        following: Values of the next observations by the target networks.
        active: Which of the networks are in use: the loss is that of these.

    Returns:
        The networks after the update, and the mean loss.
    """
    value_all: Values = partial(values, config.layout, actions)
    losses, slope = gradient(value_all, chosen.online, following, batch)
    rule = optimizer(config.optimizer, config.learning_rate)
    step, state = jax.vmap(rule.update)(slope, chosen.optimizer)
    loss = jnp.sum(jnp.where(active, losses, 0)) / jnp.maximum(active.sum(), 1)
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
    """The bank with Q-functions that have learned, and with their target networks renewed where that is due.

    Args:
        config: The agent's settings.
        bank: The Q-functions before.
        slots: Those that were taken out.
        chosen: Their networks after learning.
        active: Which of them are in use; the others stay as they were.
        times: How many batches they have learned from.
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
    return FormulaBank(
        online=jax.tree.map(learned, bank.online, chosen.online),
        target=jax.tree.map(renewed, bank.target, chosen.online),
        optimizer=jax.tree.map(learned, bank.optimizer, chosen.optimizer),
        updates=learned(bank.updates, updates),
        steps=bank.steps,
        rounds=unless_stopped(is_going, bank.rounds + times, bank.rounds),
    )
