"""The state of the hierarchical agent: what it has learned and experienced, and how it moves to larger arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
from jaxtyping import Array

from rewardmachines.agents.hierarchical_dqn.call_q import CallBank
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.options.ending import Experience
from rewardmachines.agents.replay import Rings, Transition


class AgentState(NamedTuple):
    """What an agent has learned and experienced."""

    formulas: FormulaBank
    """The Q-functions of formulas."""
    calls: CallBank
    """The Q-functions of machines."""
    replay: Rings[Transition]
    """One ring with the steps that all Q-functions of formulas learn from."""
    call_replay: Rings[Experience]
    """A ring for each machine, with the options that its Q-function learns from."""


def enlarged(fresh: AgentState, old: AgentState) -> AgentState:
    """An agent's state in larger arrays.

    Networks of machines have inputs for states and outputs for options. If there are more of these, they begin afresh.

    Args:
        fresh: A state that knows nothing, in arrays of the larger shapes.
        old: The state to be kept.
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
    """The new array with the old one in its first corner; a number is replaced."""
    return new.at[tuple(slice(0, size) for size in old.shape)].set(old) if old.shape else old
