"""Lets Q-functions begin afresh whose formulas or machines have changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rewardmachines.agents.hierarchical_dqn import call_q, formula_q
from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.agents.networks import Chance
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.crew import Knowledge
from rewardmachines.lhrm.worlds.protocol import TaskWorlds


def with_new_formulas(
    agent: AgentState, slots: Sequence[int], config: LhrmConfig, worlds: TaskWorlds, chance: Chance
) -> AgentState:
    """An agent with new Q-functions for formulas in some slots, which other formulas have taken over.

    Args:
        agent: What the agent has learned.
        slots: The slots.
        config: The settings.
        worlds: The shape of observations, and how many actions there are.
        chance: The generator that networks are initialized with.
    """
    if not slots:
        return agent
    formulas = formula_q.renewed(config.agent, agent.formulas, slots, worlds.shape, worlds.actions, chance)
    return agent._replace(formulas=formulas)


def with_new_machines(
    agent: AgentState,
    machines: Sequence[int],
    knowledge: Knowledge,
    config: LhrmConfig,
    worlds: TaskWorlds,
    chance: Chance,
) -> AgentState:
    """An agent with new Q-functions for the calls of some machines, and nothing remembered of their calls.

    Args:
        agent: What the agent has learned.
        machines: The numbers of the machines.
        knowledge: Their options.
        config: The settings.
        worlds: The shape of observations.
        chance: The generator that networks are initialized with.
    """
    if not machines:
        return agent
    rings = agent.call_replay
    return agent._replace(
        calls=call_q.renewed(config.agent, agent.calls, knowledge.options, machines, worlds.shape, chance),
        call_replay=rings._replace(written=rings.written.at[np.asarray(machines)].set(0)),
    )
