"""What the agent has learned and experienced, and how it moves to larger arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
from jaxtyping import Array

from rewardmachines.agents.hierarchical_dqn.call_q import CallBank
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.options.stack import Experience
from rewardmachines.agents.replay import Rings, Transition


class AgentState(NamedTuple):
    """What an agent has learned and experienced."""

    formulas: FormulaBank
    calls: CallBank
    replay: Rings[Transition]
    call_replay: Rings[Experience]


def enlarged(fresh: AgentState, old: AgentState) -> AgentState:
    """What is known, in larger arrays.

    Networks of machines have inputs for states and outputs for options. If there are more of these, they begin afresh.
    """
    grown = fresh._replace(formulas=jax.tree.map(_pasted, fresh.formulas, old.formulas), replay=old.replay)
    if _shapes_of_one(fresh.calls.online) != _shapes_of_one(old.calls.online):
        return grown
    return grown._replace(
        calls=jax.tree.map(_pasted, fresh.calls, old.calls),
        call_replay=jax.tree.map(_pasted, fresh.call_replay, old.call_replay),
    )


def _shapes_of_one(networks: Any) -> list[tuple[int, ...]]:
    return [x.shape[1:] for x in jax.tree.leaves(networks)]


def _pasted(new: Array, old: Array) -> Array:
    return new.at[tuple(slice(0, size) for size in old.shape)].set(old) if old.shape else old
