"""The Q-functions of machines, which value the options that a machine can choose.

Options take several steps, so these are Q-functions of semi-Markov decision processes. A machine has one Q-function,
whichever machine calls it.
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
from rewardmachines.agents.loop_of_runs import IsGoing
from rewardmachines.agents.networks import Chance, Network, put_into, stacked
from rewardmachines.agents.options.stack import Experience
from rewardmachines.agents.options.tables import OptionTables


class CallBank(NamedTuple):
    """The Q-functions of M machines, with U states and C contexts. Networks are stacked along a leading axis."""

    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, " M"]
    """Updates so far."""
    ended: Int32[Array, "M U C"]
    """Ended options, by the machine, state and context in which they were chosen."""
    owed: Float[Array, " M"]
    """Due updates, which are still to be made."""


class CallInputs(NamedTuple):
    """The inputs of the Q-function of a machine."""

    observation: Float[Array, "B ..."]
    state: Int32[Array, " B"]
    context: Int32[Array, " B"]


def create(
    config: HierarchicalDqnConfig,
    options: OptionTables,
    shape: tuple[int, ...],
    chance: Chance,
) -> CallBank:
    """Untrained Q-functions.

    Args:
        config: The agent's settings.
        options: The option tables.
        shape: The shape of an observation.
        chance: Draws the weights.
    """
    machines, states, contexts, outputs = options.allowed.shape
    extra = states + options.context.shape[1]
    online = stacked([Network(config.calls.network, shape, extra, outputs, chance) for _ in range(machines)])
    rule = optimizer(config.optimizer, config.calls.learning_rate)
    return CallBank(
        online=online,
        target=jax.device_put(online, may_alias=False),
        optimizer=jax.vmap(rule.init)(online),
        updates=jax.device_put(np.zeros(machines, np.int32)),
        ended=jax.device_put(np.zeros((machines, states, contexts), np.int32)),
        owed=jax.device_put(np.zeros(machines, np.float32)),
    )


def renewed(
    config: HierarchicalDqnConfig,
    bank: CallBank,
    options: OptionTables,
    machines: Sequence[int],
    shape: tuple[int, ...],
    chance: Chance,
) -> CallBank:
    """The bank with reset Q-functions and counters for some machines.

    Args:
        config: The agent's settings.
        bank: The Q-functions before.
        options: The option tables.
        machines: The machines whose Q-functions are reset.
        shape: The shape of an observation.
        chance: Draws the weights.
    """
    _, states, _, outputs = options.allowed.shape
    extra = states + options.context.shape[1]
    new = stacked([Network(config.calls.network, shape, extra, outputs, chance) for _ in machines])
    chosen = np.asarray(machines)

    def put(old: Array, new: Array | int = 0) -> Array:
        return put_into(old, chosen, new)

    return CallBank(
        online=jax.tree.map(put, bank.online, new),
        target=jax.tree.map(put, bank.target, new),
        optimizer=jax.tree.map(put, bank.optimizer),
        updates=put(bank.updates),
        ended=put(bank.ended),
        owed=put(bank.owed),
    )


def values(options: OptionTables, network: Any, inputs: CallInputs) -> Float[Array, "B O"]:
    """The values of one machine's choices, for B inputs."""
    state = jax.nn.one_hot(inputs.state, options.edge.shape[1])
    valued: Float[Array, "B O"] = network(
        inputs.observation, jnp.concatenate([state, options.context[inputs.context]], axis=-1)
    )
    return valued


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
    """Options as transitions: the reward is 1 if the machine accepts, discounted by the steps that the option took.

    The environment's own reward meanwhile is added, if it has a weight.

    Args:
        config: The agent's settings.
        options: The option tables.
        machine: The machine that chose them.
        rows: The options.
        before: The observations when the options began.
        after: The observations when the options ended.
    """
    passed = config.calls.discount ** rows.steps.astype(jnp.float32)
    allowed = options.allowed[machine, rows.next_state, rows.next_context]
    is_end = rows.is_terminal | ~allowed.any(axis=-1)
    reward = jnp.where(rows.is_accepted, passed, 0.0)
    if rows.reward is not None:
        reward += rows.reward
    return Batch(
        inputs=CallInputs(before, rows.state, rows.context),
        action=rows.output,
        reward=reward,
        discount=jnp.where(is_end, 0.0, passed),
        next_inputs=CallInputs(after, rows.next_state, rows.next_context),
        # At an end any choice may be picked, since the discount of its value is 0.
        next_allowed=allowed | is_end[:, None],
    )


class UpdatedNetworks(NamedTuple):
    """The networks of one machine after an update, which are not yet in the bank."""

    machine: Int32[Array, ""]
    """The machine; out of range before the first update."""
    online: Any
    target: Any
    optimizer: Any


def nothing_learned(bank: CallBank) -> UpdatedNetworks:
    """The state before the first update, which `put_back` ignores."""
    parts = (bank.online, bank.target, bank.optimizer)
    return UpdatedNetworks(jnp.int32(len(bank.owed)), *jax.tree.map(lambda x: jnp.zeros(x.shape[1:], x.dtype), parts))


def put_back(bank: CallBank, learned: UpdatedNetworks) -> CallBank:
    """The bank with the networks of one machine after an update.

    A loop of updates puts networks back at the beginning of the next turn. Writing in the same turn that reads the
    previous networks would make XLA copy the whole bank in every turn.
    """

    def put(old: Array, new: Array) -> Array:
        return old.at[learned.machine].set(new, mode="drop")  # out of range, nothing is written

    return bank._replace(
        online=jax.tree.map(put, bank.online, learned.online),
        target=jax.tree.map(put, bank.target, learned.target),
        optimizer=jax.tree.map(put, bank.optimizer, learned.optimizer),
    )


def learn(
    config: HierarchicalDqnConfig,
    options: OptionTables,
    bank: CallBank,
    machine: Int32[Array, ""],
    batch: Batch,
    is_going: IsGoing = None,
) -> tuple[CallBank, UpdatedNetworks, Float[Array, ""]]:
    """One update of one machine's Q-function.

    Args:
        config: The agent's settings.
        options: The option tables.
        bank: The Q-functions before.
        machine: The machine.
        batch: The transitions.
        is_going: Whether the run goes on; if not, nothing is counted.

    Returns:
        The bank with the update counted, the networks to be written into it (`put_back`), and the loss.
    """
    online, target, state = (select(part, machine) for part in (bank.online, bank.target, bank.optimizer))
    value_outputs: Values = partial(values, options)
    loss, slope = gradient(value_outputs, online, value_outputs(target, batch.next_inputs), batch)
    step, state = optimizer(config.optimizer, config.calls.learning_rate).update(slope, state)
    online = eqx.apply_updates(online, step)
    updates = bank.updates[machine] + 1
    is_due = updates % config.calls.target_period == 0
    target = jax.tree.map(lambda new, old: jnp.where(is_due, new, old), online, target)
    counts = machine if is_going is None else jnp.where(is_going, machine, len(bank.owed))
    counted = bank._replace(
        updates=bank.updates.at[counts].set(updates, mode="drop"),
        owed=bank.owed.at[counts].add(-1, mode="drop"),
    )
    return counted, UpdatedNetworks(machine, online, target, state), loss


def count_ended(bank: CallBank, stacks: Any, over: Bool[Array, "N D"], per_option: float, ready: Any) -> CallBank:
    """Counts ended options: exploration falls where they were chosen, and updates of their machines become due.

    Args:
        bank: The Q-functions before.
        stacks: The option stacks of N environments, of depth D.
        over: The mask of options that ended.
        per_option: The number of updates that become due for each ended option.
        ready: The machines whose replay memories are full enough; no updates become due for other machines.
    """
    at = (stacks.machine, stacks.state, stacks.context)
    # Where nothing is due, the machine's number is out of range, and `mode="drop"` adds nothing.
    machine = jnp.where(over & ready[stacks.machine], stacks.machine, bank.owed.shape[0])
    return bank._replace(
        ended=bank.ended.at[at].add(over.astype(jnp.int32)),
        owed=bank.owed.at[machine].add(per_option, mode="drop"),
    )
