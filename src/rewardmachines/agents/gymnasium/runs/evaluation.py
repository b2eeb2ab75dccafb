"""Greedy episodes in Gymnasium environments that are used for nothing else, side by side."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from rewardmachines.agents.gymnasium.driver import StepResult
from rewardmachines.agents.gymnasium.environments import Environments, Numbers
from rewardmachines.agents.gymnasium.runs.episodes import moment_of
from rewardmachines.agents.gymnasium.training import Setup
from rewardmachines.lowered.traversal import ACCEPT, NEITHER


def greedy_episodes(
    setup: Setup, agent_state: Any, environments: Environments, count: int, seed: int
) -> tuple[Numbers, Numbers]:  # fmt: skip
    """Plays an episode in each environment, the i-th in instance i.

    Args:
        setup: What does not change during training.
        agent_state: What the agent has learned.
        environments: Environments that are used for nothing else.
        count: How many there are.
        seed: For what is left to chance where no option can be chosen.

    Returns:
        1 for each episode that reaches its goal and 0 for the others, and their lengths.
    """
    does, task, key = setup.programs, setup.task, jax.random.key(seed)
    goals, lengths, is_going = np.zeros(count), np.zeros(count, np.int64), np.ones(count, bool)
    numbers = np.arange(count, dtype=np.int32)
    first = moment_of(environments.begin(numbers.tolist(), np.zeros_like(numbers), numbers))
    crew = does.begin(task, setup.plan.lowered.root, *first, key)
    while is_going.any():
        key, act_key, follow_key = jax.random.split(key, 3)
        actions, crew = does.act_greedily(task, agent_state, crew, act_key)
        result = environments.step(np.flatnonzero(is_going).tolist(), np.asarray(actions))
        lengths += is_going
        goals += is_going & (result.end == ACCEPT)
        has_acted, is_going = is_going, is_going & ~result.is_over
        now = moment_of(result)
        brought = StepResult(
            action=actions,
            after=now.memory,
            label=now.label,
            is_terminated=result.end != NEITHER,
            is_over=~is_going,
            is_valid=has_acted,
            next_now=now.memory,
            next_label=now.label,
            is_fresh=np.zeros(count, bool),
        )
        crew = does.follow(task, crew, brought, follow_key)
    return goals, lengths
