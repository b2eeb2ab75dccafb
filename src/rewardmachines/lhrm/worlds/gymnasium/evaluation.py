"""Greedy episodes in Gymnasium environments that are used for nothing else, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import PRNGKeyArray

from rewardmachines.agents.gymnasium.environments import EPISODES, Environments, Numbers
from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.lhrm.crew import Knowledge
from rewardmachines.lhrm.worlds.gymnasium.programs import Programs
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask


class Evaluation:
    """Runs an episode of every task in each instance; without instances several, the mean of which counts."""

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

    @property
    def begun(self) -> tuple[int, ...]:
        """How many episodes each environment has begun, which decides on the seeds of the next."""
        return tuple(self._environments.begun)

    @begun.setter
    def begun(self, counts: Sequence[int]) -> None:
        self._environments.begun = list(counts)

    def close(self) -> None:
        """Closes the environments; the next evaluation makes new ones."""
        self._environments.close()

    def returns(
        self, programs: Programs, knowledge: Knowledge, agent: AgentState, wanted: Numbers, key: PRNGKeyArray
    ) -> Numbers:
        """The mean returns of the wanted tasks, by task and instance; 0 for the others."""
        won = self._won(programs, knowledge, agent, wanted[self._task], key)
        total, count = np.zeros(self._shape), np.zeros(self._shape)
        np.add.at(total, (self._task, self._instance), won)
        np.add.at(count, (self._task, self._instance), 1)
        mean: Numbers = total / count
        return mean

    def _won(
        self, programs: Programs, knowledge: Knowledge, agent: AgentState, goes_on: Numbers, key: PRNGKeyArray
    ) -> Numbers:
        """1 for each of the selected episodes that reaches its goal, 0 for all others."""
        won = np.zeros(len(goes_on))
        if not goes_on.any():
            return won
        environments = self._environments
        result = environments.begin(np.flatnonzero(goes_on).tolist(), self._task, self._instance)
        crew = programs.begin(knowledge, result, key)
        while goes_on.any():
            actions, crew, key = programs.exploit(knowledge, agent, crew, key)
            result = environments.step(np.flatnonzero(goes_on).tolist(), np.asarray(actions))
            endings, crew, key = programs.follow(knowledge, crew, actions, result, key)
            is_over, has_won = np.asarray(endings)
            won += goes_on & has_won
            goes_on = goes_on & ~is_over
        return won
