"""The state of an agent with which training begins: it knows nothing, or what is in a bank of skills."""

from __future__ import annotations

import numpy as np

from rewardmachines.agents.bank.agent import with_skills
from rewardmachines.agents.chunk_metrics import Assignments
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.loop import TrainingState
from rewardmachines.agents.protocol import Task
from rewardmachines.agents.setup import OptionPlan, Problem


def begin_training(problem: Problem, task: Task, assignments: Assignments, seed: int) -> TrainingState:
    """The state of a seed before its first step.

    Args:
        problem: What there is to do, and who does it.
        task: The arrays of the task, in the world of the seed.
        assignments: What is begun when an episode has ended.
        seed: The seed.
    """
    state = problem.trainer.begin(task, assignments, seed)
    plan, config = problem.plan, problem.trainer.agent.config
    if not isinstance(plan, OptionPlan) or plan.skills is None:
        return state
    assert isinstance(config, HierarchicalDqnConfig), "only options come from a bank"
    chance = np.random.default_rng((seed, 1))  # that of the seed has drawn the networks that the bank replaces
    return state._replace(agent=with_skills(state.agent, plan.skills, config, plan.lowered, chance))
