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
from jaxtyping import Array, Bool, Float, Int32

from rewardmachines.agents.config import Layout
from rewardmachines.agents.double_dqn import Batch, Values, gradient, optimizer, slowed
from rewardmachines.agents.hierarchical_dqn import call_q
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Chance, Layer, Network, put_into, single, stacked
from rewardmachines.agents.options.stack import TRUE_CONTEXT
from rewardmachines.agents.options.tables import NO_SLOT, OptionTables
from rewardmachines.agents.replay import Transition
from rewardmachines.lowered.formula import holds


class FormulaBank(NamedTuple):
    """K Q-functions. Networks are stacked along a leading axis, or there is one with K heads."""

    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, " K"]
    """Batches that each Q-function has learned from."""
    steps: Int32[Array, " K"]
    """Steps that were taken with each policy, while exploring."""
    rounds: Int32[Array, ""]
    """Batches that any Q-function has learned from."""


def fresh_networks(
    config: HierarchicalDqnConfig, slots: int, shape: tuple[int, ...], actions: int, chance: Chance
) -> Any:
    """Untrained networks: a shared network with a head for each slot, or a network for each slot.

    Args:
        config: The agent's settings.
        slots: The number of Q-functions.
        shape: The shape of an observation.
        actions: The number of actions of the environment.
        chance: Draws the weights.
    """
    if config.layout is Layout.SHARED:
        return single(Network(config.network, shape, 0, slots * actions, chance))
    return stacked([Network(config.network, shape, 0, actions, chance) for _ in range(slots)])


def create(
    config: HierarchicalDqnConfig, slots: int, shape: tuple[int, ...], actions: int, chance: Chance
) -> FormulaBank:
    """Untrained Q-functions. Arguments as for `fresh_networks`."""
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
    """The bank with reset Q-functions in some slots. In a shared network, only their heads are reset.

    Args:
        config: The agent's settings.
        bank: The Q-functions before.
        slots: The Q-functions that are reset.
        shape: The shape of an observation.
        actions: The number of actions of the environment.
        chance: Draws the weights.
    """
    fresh = fresh_networks(config, bank.updates.shape[0], shape, actions, chance)
    chosen = np.asarray(slots)
    is_shared = config.layout is Layout.SHARED
    where: Any = (..., (chosen[:, None] * actions + np.arange(actions)).reshape(-1)) if is_shared else chosen

    def put(old: Array, new: Array | None = None) -> Array:
        """The old array, with slots replaced by those of a new network, or by zeros for a fresh optimizer."""
        return put_into(old, where, 0 if new is None else np.asarray(new)[where])

    def renew(old: Any, *new: Any) -> Any:
        """A network or the optimizer's numbers with reset heads, found by place: body layers may have the same size."""
        if not is_shared:
            return jax.tree.map(put, old, *new)
        if not isinstance(old, Network):
            return old  # a counter of the optimizer for the whole network
        return eqx.tree_at(_heads, old, jax.tree.map(put, _heads(old), *map(_heads, new)))

    renew_all = partial(jax.tree.map, renew, is_leaf=lambda part: isinstance(part, Network))
    return FormulaBank(
        online=renew_all(bank.online, fresh),
        target=renew_all(bank.target, fresh),
        optimizer=renew_all(bank.optimizer),
        updates=put_into(bank.updates, chosen, 0),
        steps=put_into(bank.steps, chosen, 0),
        rounds=bank.rounds,
    )


def _heads(network: Network) -> Layer:
    """The last layer of a shared network, which has a head for each Q-function."""
    return network.head.layers[-1]


def acting(config: HierarchicalDqnConfig, bank: FormulaBank) -> Any:
    """The networks that act in greedy episodes: target networks, if these are moving averages."""
    return bank.target if config.target_rate else bank.online


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
        before: The observations before these steps.
        after: The observations after these steps.
        slots: The S Q-functions that learn.
        expected: The expected values after the steps, if options look ahead.
    """
    satisfied = jax.vmap(lambda label: holds(options.slot_required[slots], options.slot_forbidden[slots], label))(
        rows.label
    ).T  # [S, B]
    if config.event_rewards:
        satisfied &= rows.is_event
    discount = jnp.where(satisfied | rows.is_dead_end, 0.0, config.discount)
    reward = satisfied.astype(jnp.float32)
    if config.step_cost:
        reward = jnp.where(satisfied | rows.is_dead_end, reward, -config.step_cost)
    if expected is not None:
        is_bounded = not config.environment_reward
        reward *= worth(config.lookahead, options, expected, after, slots, is_bounded=is_bounded)
    if rows.reward is not None:
        reward += rows.reward  # the environment's own reward does not depend on the formula
    return Batch(
        inputs=before,
        action=rows.action,
        reward=reward,
        discount=discount,
        next_inputs=after,
        next_allowed=jnp.ones((1, 1), bool),
    )


def bounded(config: HierarchicalDqnConfig, following: Float[Array, "S B A"]) -> Float[Array, "S B A"]:
    """The next values. With a step cost, they are clipped so that 0 to 1 is left after subtracting the cost.

    Args:
        config: The agent's settings.
        following: The values of actions after the steps, by the target networks.
    """
    return jnp.clip(following, config.step_cost, 1.0) if config.step_cost else following


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
        actions: The number of actions of the environment.
        bank: The Q-functions before.
        options: The formulas.
        rows: The steps that are learned from.
        before: The observations before these steps.
        after: The observations after these steps.
        calls: The networks of machines, if options look ahead.

    Returns:
        The Q-functions after the update, and the mean loss.
    """
    slots = jnp.arange(bank.updates.shape[0])
    value_all: Values = partial(values, config.layout, actions)
    following = bounded(config, value_all(bank.target, after))
    expected = None if calls is None else Ahead(following.max(axis=-1), calls)
    batch = batch_for(config, options, rows, before, after, slots, expected)
    weight = options.is_active.astype(jnp.float32)
    losses, slope = gradient(value_all, bank.online, following, batch, weight)
    step, state = optimizer(config.optimizer, config.learning_rate).update(slope, bank.optimizer)
    online = eqx.apply_updates(bank.online, slowed(step, bank.rounds, config.halving_updates))
    rounds = bank.rounds + 1
    share = config.target_rate or rounds % config.target_period == 0
    target = jax.tree.map(partial(_towards, share), bank.target, online)
    updates = bank.updates + options.is_active
    learned = FormulaBank(
        online=online, target=target, optimizer=state, updates=updates, steps=bank.steps, rounds=rounds
    )
    return learned, jnp.sum(weight * losses) / jnp.maximum(weight.sum(), 1)


def _towards(share: float | Bool[Array, ""], old: Array, new: Array) -> Array:
    """A point between the old value and the new one, either of them included."""
    return old + share * (new - old) if isinstance(share, float) else jnp.where(share, new, old)


# -- with lookahead


class Ahead(NamedTuple):
    """The expected values after a step, whichever options end there.

    The expected value of a state of a machine is the value of its best option there. The best estimate for a formula
    option is the option's own Q-function, which learns from every step; for a call, it is the machine's Q-function. In
    dead ends the expected value is 0, so machines also learn from failed options (`stack.with_failures`).
    """

    formulas: Float[Array, "K B"]
    """The values of the best actions, by each of the K Q-functions of formulas."""
    calls: Any
    """The networks of the Q-functions of machines."""


def worth(
    lookahead: float,
    options: OptionTables,
    expected: Ahead,
    after: Float[Array, "B ..."],
    slots: Int32[Array, " S"],
    *,
    is_bounded: bool = True,
) -> Float[Array, "S B"]:
    """The value, for each Q-function, of satisfying its formula in each of B observations.

    The value is 1 where the task is over, and otherwise a mixture of 1 and the value of the best option of the machine
    that goes on. If only hierarchies give rewards, values lie between 0 and 1, and the outputs of networks are clipped.

    Args:
        lookahead: The weight of the value that follows.
        options: The option tables, with lookahead.
        expected: The expected values after the steps.
        after: B observations.
        slots: The S Q-functions of formulas.
        is_bounded: Whether values lie between 0 and 1, because the environment's own rewards do not count.
    """
    ahead = options.ahead
    assert ahead is not None, "these options do not look ahead"

    def of(slot: Int32[Array, ""]) -> Float[Array, " B"]:
        machine, state = ahead.machine[slot], ahead.state[slot]
        same = jnp.broadcast_to(state, after.shape[:1])
        inputs = call_q.CallInputs(after, same, jnp.full_like(same, TRUE_CONTEXT))
        calls = call_q.values(options, call_q.select(expected.calls, machine), inputs)  # [B, O]
        following = ahead.following[slot]
        values = jnp.where(following == NO_SLOT, calls, expected.formulas[following].T)
        can = options.allowed[machine, state, TRUE_CONTEXT]
        best = jnp.where(can.any(), jnp.max(jnp.where(can, values, -jnp.inf), axis=-1), 0.0)
        if is_bounded:
            best = jnp.clip(best, 0.0, 1.0)
        return jnp.where(ahead.is_end[slot], 1.0, 1 - lookahead + lookahead * best)

    return jax.lax.stop_gradient(jax.vmap(of)(slots))
