"""The state of the hierarchical agent: networks and replay memories, and their move to larger arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
from jaxtyping import Array

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn.call_q import CallBank
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank, acting
from rewardmachines.agents.options.stack import Experience
from rewardmachines.agents.replay import Rings, Transition


class AgentState(NamedTuple):
    """The networks, counters and replay memories of an agent."""

    formulas: FormulaBank
    """The Q-functions of formulas."""
    calls: CallBank
    """The Q-functions of machines."""
    replay: Rings[Transition]
    """One ring with the steps that all Q-functions of formulas learn from."""
    call_replay: Rings[Experience]
    """A ring for each machine, with the options that its Q-function learns from."""


def to_be_kept(config: AgentConfig, state: Any) -> Any:
    """The state of an agent to be saved: its networks are those that act in greedy episodes.

    Args:
        config: The agent's settings.
        state: The state of an agent of any kind.
    """
    if not isinstance(state, AgentState) or not isinstance(config, HierarchicalDqnConfig):
        return state
    return state._replace(formulas=state.formulas._replace(online=acting(config, state.formulas)))


def as_kept(state: Any) -> Any:
    """The state of an agent whose networks alone were read: target networks, which may act, equal them."""
    if not isinstance(state, AgentState):
        return state
    return state._replace(formulas=state.formulas._replace(target=state.formulas.online))


def enlarged(fresh: AgentState, old: AgentState) -> AgentState:
    """An agent's state in larger arrays.

    Networks of machines have inputs for states and outputs for options. If these numbers grow, the networks are reset.

    Args:
        fresh: An untrained state, in arrays of the larger shapes.
        old: The present state.
    """
    grown = fresh._replace(formulas=jax.tree.map(_pasted, fresh.formulas, old.formulas), replay=old.replay)
    if _shapes_of_one(fresh.calls.online) != _shapes_of_one(old.calls.online):
        return grown
    return grown._replace(
        calls=jax.tree.map(_pasted, fresh.calls, old.calls),
        call_replay=jax.tree.map(_pasted, fresh.call_replay, old.call_replay),
    )


def _shapes_of_one(networks: Any) -> list[tuple[int, ...]]:
    """The shapes of one of the networks that are stacked along a leading axis."""
    return [x.shape[1:] for x in jax.tree.leaves(networks)]


def _pasted(new: Array, old: Array) -> Array:
    """The new array with the old array in its first corner; a scalar is replaced."""
    return new.at[tuple(slice(0, size) for size in old.shape)].set(old) if old.shape else old
