"""The Q-functions of formula options: how to make a formula true, wherever one is.

They learn from the same steps, whoever acted: a step satisfies some formulas and not others.
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

from rewardmachines.agents.config import Layout
from rewardmachines.agents.double_dqn import Batch, Values, gradient, optimizer
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Chance, Network, put_into, single, stacked
from rewardmachines.agents.options.tables import OptionTables
from rewardmachines.agents.replay import Transition
from rewardmachines.lowered.formula import holds


class FormulaBank(NamedTuple):
    """K Q-functions."""

    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, " K"]
    steps: Int32[Array, " K"]
    """Executed with each policy, while exploring."""
    rounds: Int32[Array, ""]


def fresh_networks(
    config: HierarchicalDqnConfig, slots: int, shape: tuple[int, ...], actions: int, chance: Chance
) -> Any:
    if config.layout is Layout.SHARED:
        return single(Network(config.network, shape, 0, slots * actions, chance))
    return stacked([Network(config.network, shape, 0, actions, chance) for _ in range(slots)])


def create(
    config: HierarchicalDqnConfig, slots: int, shape: tuple[int, ...], actions: int, chance: Chance
) -> FormulaBank:
    online = fresh_networks(config, slots, shape, actions, chance)
    rule = optimizer(config.optimizer, config.learning_rate)
    state = rule.init(online) if config.layout is Layout.SHARED else jax.vmap(rule.init)(online)
    nothing = jnp.zeros(slots, jnp.int32)
    return FormulaBank(online, jax.tree.map(jnp.array, online), state, nothing, nothing, jnp.int32(0))


def renewed(
    config: HierarchicalDqnConfig,
    bank: FormulaBank,
    slots: Sequence[int],
    shape: tuple[int, ...],
    actions: int,
    chance: Chance,
) -> FormulaBank:
    """With Q-functions in these slots that know nothing yet. Of a shared network, only their heads are new."""
    count = bank.updates.shape[0]
    fresh = fresh_networks(config, count, shape, actions, chance)
    chosen = np.asarray(slots)
    heads = (chosen[:, None] * actions + np.arange(actions)).reshape(-1)

    def put(old: Array, new: Array | None = None) -> Array:
        """The part of a new network, or of an optimizer that has seen nothing."""
        where: Any = chosen
        if config.layout is Layout.SHARED:
            if not old.ndim or old.shape[-1] != count * actions:
                return old
            where = (..., heads)
        return put_into(old, where, 0 if new is None else np.asarray(new)[where])

    return FormulaBank(
        jax.tree.map(put, bank.online, fresh),
        jax.tree.map(put, bank.target, fresh),
        jax.tree.map(put, bank.optimizer),
        put_into(bank.updates, chosen, 0),
        put_into(bank.steps, chosen, 0),
        bank.rounds,
    )


def values(layout: Layout, actions: int, networks: Any, observations: Float[Array, "B ..."]) -> Float[Array, "K B A"]:
    """What every Q-function of these networks says of every observation."""
    if layout is Layout.SHARED:
        all_values = networks(observations)
        return jnp.moveaxis(all_values.reshape(len(observations), -1, actions), 1, 0)
    said: Float[Array, "K B A"] = jax.vmap(lambda network: network(observations))(networks)
    return said


def batch_for(
    config: HierarchicalDqnConfig,
    options: OptionTables,
    rows: Transition,
    before: Any,
    after: Any,
    slots: Int32[Array, " S"],
) -> Batch:
    """Rewards and ends as these Q-functions see them."""
    satisfied = jax.vmap(lambda label: holds(options.slot_required[slots], options.slot_forbidden[slots], label))(
        rows.label
    ).T  # [S, B]
    if config.event_rewards:
        satisfied &= rows.is_event
    discount = jnp.where(satisfied | rows.is_dead_end, 0.0, config.discount)
    return Batch(before, rows.action, satisfied.astype(jnp.float32), discount, after, jnp.ones((1, 1), bool))


def choose(bank: FormulaBank, active: Bool[Array, " K"], count: int, key: PRNGKeyArray) -> Int32[Array, " S"]:
    """Which Q-functions are to learn: rather those that have learned seldom. Those not in use come last."""
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
) -> tuple[FormulaBank, Float[Array, ""]]:
    """One step for all heads in use."""
    slots = jnp.arange(bank.updates.shape[0])
    batch = batch_for(config, options, rows, before, after, slots)
    weight = options.is_active.astype(jnp.float32)
    say: Values = partial(values, config.layout, actions)
    losses, slope = gradient(say, bank.online, say(bank.target, after), batch, weight)
    step, state = optimizer(config.optimizer, config.learning_rate).update(slope, bank.optimizer)
    online = eqx.apply_updates(bank.online, step)
    rounds = bank.rounds + 1
    is_due = rounds % config.target_period == 0
    target = jax.tree.map(lambda new, old: jnp.where(is_due, new, old), online, bank.target)
    updates = bank.updates + options.is_active
    learned = FormulaBank(online, target, state, updates, bank.steps, rounds)
    return learned, jnp.sum(weight * losses) / jnp.maximum(weight.sum(), 1)


class Chosen(NamedTuple):
    """The networks of some Q-functions, taken out of a bank to learn."""

    online: Any
    optimizer: Any


def take_out(networks: Any, slots: Int32[Array, " S"]) -> Any:
    return jax.tree.map(lambda x: x[slots], networks)


def learn_chosen(
    config: HierarchicalDqnConfig, actions: int, chosen: Chosen, batch: Batch, following: Any, active: Bool[Array, " S"]
) -> tuple[Chosen, Float[Array, ""]]:
    """One step for each of the chosen networks on the same transitions."""
    say: Values = partial(values, config.layout, actions)
    losses, slope = gradient(say, chosen.online, following, batch)
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
) -> FormulaBank:
    """Into the bank, with targets renewed where they are due. What was taken out though not in use stays as it was."""
    updates = bank.updates[slots] + times
    is_due = updates // config.target_period > bank.updates[slots] // config.target_period
    nowhere = bank.updates.shape[0]

    def put(where: Array, old: Array, new: Array) -> Array:
        return old.at[where].set(new, mode="drop", unique_indices=True)

    learned = partial(put, jnp.where(active, slots, nowhere))
    renewed = partial(put, jnp.where(active & is_due, slots, nowhere))
    return FormulaBank(
        jax.tree.map(learned, bank.online, chosen.online),
        jax.tree.map(renewed, bank.target, chosen.online),
        jax.tree.map(learned, bank.optimizer, chosen.optimizer),
        learned(bank.updates, updates),
        bank.steps,
        bank.rounds + times,
    )
