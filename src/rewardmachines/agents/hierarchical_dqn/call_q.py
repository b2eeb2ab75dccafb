"""The Q-functions of machines: which of its options a machine should choose, wherever one is.

Options take several steps, so these are Q-functions of semi-Markov decision processes. A machine has one Q-function for
all who call it.
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

from rewardmachines.agents.double_dqn import Batch, Values, gradient, optimizer
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Chance, Network, put_into, stacked
from rewardmachines.agents.options.stack import Experience
from rewardmachines.agents.options.tables import OptionTables


class CallBank(NamedTuple):
    """M machines, U states, C contexts."""

    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, " M"]
    ended: Int32[Array, "M U C"]
    """Options that ended, by where they were chosen."""
    owed: Float[Array, " M"]
    """Updates that are still to be made."""


class Inputs(NamedTuple):
    """What a machine's Q-function sees."""

    observation: Float[Array, "B ..."]
    state: Int32[Array, " B"]
    context: Int32[Array, " B"]


def create(
    config: HierarchicalDqnConfig,
    options: OptionTables,
    shape: tuple[int, ...],
    chance: Chance,
) -> CallBank:
    machines, states, contexts, outputs = options.allowed.shape
    extra = states + options.context.shape[1]
    online = stacked([Network(config.call_network, shape, extra, outputs, chance) for _ in range(machines)])
    rule = optimizer(config.optimizer, config.call_learning_rate)
    return CallBank(
        online,
        jax.tree.map(jnp.array, online),
        jax.vmap(rule.init)(online),
        jnp.zeros(machines, jnp.int32),
        jnp.zeros((machines, states, contexts), jnp.int32),
        jnp.zeros(machines, jnp.float32),
    )


def renewed(
    config: HierarchicalDqnConfig,
    bank: CallBank,
    options: OptionTables,
    machines: Sequence[int],
    shape: tuple[int, ...],
    chance: Chance,
) -> CallBank:
    """With Q-functions of these machines that know nothing yet."""
    _, states, _, outputs = options.allowed.shape
    extra = states + options.context.shape[1]
    new = stacked([Network(config.call_network, shape, extra, outputs, chance) for _ in machines])
    chosen = np.asarray(machines)

    def put(old: Array, new: Array | int = 0) -> Array:
        return put_into(old, chosen, new)

    return CallBank(
        jax.tree.map(put, bank.online, new),
        jax.tree.map(put, bank.target, new),
        *jax.tree.map(put, (bank.optimizer, bank.updates, bank.ended, bank.owed)),
    )


def values(options: OptionTables, network: Any, inputs: Inputs) -> Float[Array, "B O"]:
    """Of one machine's outputs."""
    state = jax.nn.one_hot(inputs.state, options.edge.shape[1])
    said: Float[Array, "B O"] = network(
        inputs.observation, jnp.concatenate([state, options.context[inputs.context]], axis=-1)
    )
    return said


def select(networks: Any, machine: Int32[Array, ""]) -> Any:
    """The network of one machine."""
    return jax.tree.map(lambda x: x[machine], networks)


def batch_for(
    config: HierarchicalDqnConfig,
    options: OptionTables,
    machine: Int32[Array, ""],
    rows: Experience,
    before: Any,
    after: Any,
) -> Batch:
    """1 for an option that makes its machine accept, discounted by the time it took."""
    passed = config.call_discount ** rows.steps.astype(jnp.float32)
    allowed = options.allowed[machine, rows.next_state, rows.next_context]
    is_end = rows.is_terminal | ~allowed.any(axis=-1)
    return Batch(
        Inputs(before, rows.state, rows.context),
        rows.output,
        jnp.where(rows.is_accepted, passed, 0.0),
        jnp.where(is_end, 0.0, passed),
        Inputs(after, rows.next_state, rows.next_context),
        allowed | is_end[:, None],
    )


def learn(
    config: HierarchicalDqnConfig, options: OptionTables, bank: CallBank, machine: Int32[Array, ""], batch: Batch
) -> tuple[CallBank, Float[Array, ""]]:
    """One step for one machine."""
    online, target, state = (select(part, machine) for part in (bank.online, bank.target, bank.optimizer))
    say: Values = partial(values, options)
    loss, slope = gradient(say, online, say(target, batch.next_inputs), batch)
    step, state = optimizer(config.optimizer, config.call_learning_rate).update(slope, state)
    online = eqx.apply_updates(online, step)
    updates = bank.updates[machine] + 1
    is_due = updates % config.call_target_period == 0
    target = jax.tree.map(lambda new, old: jnp.where(is_due, new, old), online, target)

    def put(old: Array, new: Array) -> Array:
        return old.at[machine].set(new)

    learned = CallBank(
        jax.tree.map(put, bank.online, online),
        jax.tree.map(put, bank.target, target),
        jax.tree.map(put, bank.optimizer, state),
        put(bank.updates, updates),
        bank.ended,
        put(bank.owed, bank.owed[machine] - 1),
    )
    return learned, loss


def count_ended(bank: CallBank, stacks: Any, over: Bool[Array, "N D"], per_option: float, ready: Any) -> CallBank:
    """Exploration goes down where options ended; each owes an update to a machine that has enough to learn from."""
    at = (stacks.machine, stacks.state, stacks.context)
    machine = jnp.where(over & ready[stacks.machine], stacks.machine, bank.owed.shape[0])
    return bank._replace(
        ended=bank.ended.at[at].add(over.astype(jnp.int32)),
        owed=bank.owed.at[machine].add(per_option, mode="drop"),
    )
