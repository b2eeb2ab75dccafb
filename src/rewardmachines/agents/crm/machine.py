"""The flat machine of CRM: its transitions, and the states that yield experiences."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32, UInt32

from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.lowered import Tables
from rewardmachines.lowered.formula import holds

MACHINE = 0
"""The number of the only machine of a flat hierarchy."""


def open_states(tables: Tables) -> Bool[Array, " U"]:
    """The mask of states of the machine that are not terminal."""
    return ~(tables.is_accepting[MACHINE] | tables.is_rejecting[MACHINE])


def experiences_per_step(config: CrmConfig, tables: Tables) -> int:
    """The size of a step in the replay memory: 1, or its experiences if the settings count experiences.

    Args:
        config: The settings.
        tables: The machine.
    """
    return int(open_states(tables).sum()) if config.counts_experiences else 1


def next_state(tables: Tables, state: Int32[Array, ""], label: UInt32[Array, " W"]) -> Int32[Array, ""]:
    """The next state of a flat machine: along the edge that the label satisfies, or the same state.

    Args:
        tables: The machine.
        state: The present state.
        label: The bits of the label.
    """
    satisfied: Bool[Array, " C"] = holds(tables.required[MACHINE, state], tables.forbidden[MACHINE, state], label)
    return jnp.where(satisfied.any(), tables.landing[MACHINE, state, jnp.argmax(satisfied)], state)
