"""Greedy episodes in Gymnasium environments of their own, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from jaxtyping import PRNGKeyArray

from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.lhrm.interaction import Knowledge
from rewardmachines.lhrm.worlds.gymnasium.environments import Environments, Numbers
from rewardmachines.lhrm.worlds.gymnasium.programs import Programs, tell
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask

EPISODES: Final = 10
"""Of a task that has no instances."""


class Evaluation:
    """An episode of every task in each instance; without instances several, of which the mean counts."""

    def __init__(
        self, tasks: Sequence[GymTask], instances: int, make_environments: Callable[[int], Environments]
    ) -> None:
        pairs = [
            (task, instance)
            for task, own in enumerate(tasks)
            for instance in range(instances)
            for _ in range(1 if own.instances is not None else -(-EPISODES // instances))
        ]
        self._shape = len(tasks), instances
        self._task, self._instance = np.array(pairs, np.int32).T
        self._environments = make_environments(len(pairs))

    def close(self) -> None:
        self._environments.close()

    def returns(
        self, does: Programs, knowledge: Knowledge, agent: AgentState, wanted: Numbers, key: PRNGKeyArray
    ) -> Numbers:
        """By task and instance."""
        won = self._won(does, knowledge, agent, wanted[self._task], key)
        total, count = np.zeros(self._shape), np.zeros(self._shape)
        np.add.at(total, (self._task, self._instance), won)
        np.add.at(count, (self._task, self._instance), 1)
        mean: Numbers = total / count
        return mean

    def _won(
        self, does: Programs, knowledge: Knowledge, agent: AgentState, goes_on: Numbers, key: PRNGKeyArray
    ) -> Numbers:
        won = np.zeros(len(goes_on))
        if not goes_on.any():
            return won
        environments = self._environments
        environments.begin(np.flatnonzero(goes_on).tolist(), self._task, self._instance)
        crew = does.begin(knowledge, tell(environments), key)
        while goes_on.any():
            actions, crew, key = does.exploit(knowledge, agent, crew, key)
            packed = tell(environments, environments.step(np.flatnonzero(goes_on).tolist(), np.asarray(actions)))
            found, crew, key = does.follow(knowledge, crew, actions, packed, key)
            is_over, has_won = np.asarray(found)
            won += goes_on & has_won
            goes_on = goes_on & ~is_over
        return won
