"""Gives an untrained agent the policies of a bank."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.skills import Skills
from rewardmachines.agents.config import Layout
from rewardmachines.agents.double_dqn import optimizer
from rewardmachines.agents.hierarchical_dqn.call_q import CallBank
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.hierarchical_dqn.state import AgentState
from rewardmachines.agents.networks import Chance, Network, features, put_into, single
from rewardmachines.lowered import LoweredHierarchy


class JoinedNetwork(eqx.Module):
    """Two networks with heads, used as a single network. Training of the second does not change the first."""

    known: Network
    """The network of a bank."""
    new: Network
    """The heads of the formulas that the bank does not have, on a body of their own."""

    def __call__(self, observations: Float[Array, "B ..."]) -> Float[Array, "B O"]:
        both: Float[Array, "B O"] = jax.numpy.concatenate([self.known(observations), self.new(observations)], axis=-1)
        return both


def with_skills(
    agent: AgentState, skills: Skills, config: HierarchicalDqnConfig, lowered: LoweredHierarchy, chance: Chance
) -> AgentState:
    """An untrained agent with the policies of a bank.

    Args:
        agent: The agent.
        skills: The part of the bank that the task uses.
        config: The settings of the agent.
        lowered: The machines of the task.
        chance: Draws the weights of a network for formulas that the bank does not have.
    """
    formulas = _formulas(agent.formulas, skills, config, chance)
    numbers = {n: name for n, name in enumerate(lowered.machines) if skills.is_known(name)}
    return agent._replace(formulas=formulas, calls=with_calls(agent.calls, skills.bank, numbers, config))


def _formulas(fresh: FormulaBank, skills: Skills, config: HierarchicalDqnConfig, chance: Chance) -> FormulaBank:
    """The Q-functions of formulas. Policies of the bank explore with the lowest probability."""
    bank, new = skills.bank, skills.new_slots
    steps = put_into(fresh.steps, slice(0, bank.sizes.slots), config.exploration.steps)
    if config.layout is Layout.SEPARATE:
        put = lambda old, known: put_into(old, slice(0, bank.sizes.slots), np.asarray(known))  # noqa: E731
        online = jax.tree.map(put, fresh.online, bank.networks.formulas)
        return fresh._replace(online=online, target=jax.device_put(online, may_alias=False), steps=steps)
    online = jax.device_put(bank.networks.formulas, may_alias=False)
    if new:
        shape, actions = bank.interface.shape, len(bank.interface.actions)
        online = JoinedNetwork(online, single(Network(config.network, shape, 0, new * actions, chance)))
    state = optimizer(config.optimizer, config.learning_rate).init(online)
    return fresh._replace(online=online, target=jax.device_put(online, may_alias=False), optimizer=state, steps=steps)


def with_calls(fresh: CallBank, bank: Bank, numbers: dict[int, str], config: HierarchicalDqnConfig) -> CallBank:
    """The Q-functions of machines, with those of a bank, which explore with the lowest probability.

    Args:
        fresh: Untrained Q-functions.
        bank: The bank.
        numbers: The names of machines of the bank, by their numbers among the Q-functions.
        config: The settings of the agent.
    """
    if not numbers:
        return fresh
    where, rows = np.array(list(numbers)), np.array([bank.names.index(name) for name in numbers.values()])
    states, outputs = fresh.ended.shape[1], fresh.online.head.layers[-1].bias.shape[-1]
    known = _widened(jax.tree.map(lambda x: np.asarray(x)[rows], bank.networks.calls), bank, states, outputs)
    online = jax.tree.map(lambda old, new: put_into(old, where, new), fresh.online, known)
    return fresh._replace(
        online=online,
        target=jax.device_put(online, may_alias=False),
        ended=put_into(fresh.ended, where, config.calls.exploration.steps),
    )


def _widened(networks: Any, bank: Bank, states: int, outputs: int) -> Any:
    """Networks of machines, padded with states and outputs that none of these machines has.

    The inputs of a network are the features of the observation, the state (one-hot), and the context.
    """
    sizes = bank.sizes
    before = features(sizes.call_network, bank.interface.shape) + sizes.states

    def widen(x: Any, axis: int, at: int, more: int) -> Any:
        gap = np.zeros((*x.shape[:axis], more, *x.shape[axis + 1 :]), x.dtype)
        first, last = np.split(x, [at], axis=axis)
        return np.concatenate([first, gap, last], axis=axis)

    layers = [*networks.head.layers]
    layers[0] = eqx.tree_at(
        lambda one: one.weight, layers[0], widen(layers[0].weight, 1, before, states - sizes.states)
    )
    more = outputs - sizes.outputs
    wider = widen(layers[-1].weight, 2, sizes.outputs, more), widen(layers[-1].bias, 1, sizes.outputs, more)
    layers[-1] = eqx.tree_at(lambda one: (one.weight, one.bias), layers[-1], wider)
    return eqx.tree_at(lambda one: one.head.layers, networks, layers)
