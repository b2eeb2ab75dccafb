"""What comes of training: an agent that has learned, and its greedy policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rewardmachines.agents.gymnasium.diagnosis import NOTHING, Diagnosis
from rewardmachines.agents.gymnasium.policy import AnyEnv, GymnasiumPolicy
from rewardmachines.agents.gymnasium.runs.folder import TrainGymnasiumFolder
from rewardmachines.agents.gymnasium.training import Setup
from rewardmachines.agents.training.rows import Row
from rewardmachines.envs.gymnasium.checks.single import checked


@dataclass(frozen=True)
class Trained:
    """A trained agent. Without a folder it lives in memory only."""

    setup: Setup
    agent_state: Any
    """What it has learned."""
    steps: int
    episodes: int
    rows: tuple[Row, ...] = ()
    """What each chunk brought, from the beginning; none, if a vector environment was stepped as it is."""
    files: TrainGymnasiumFolder | None = None
    """The folder of the run, if it has one."""
    diagnosis: Diagnosis = NOTHING
    """Why the task is not learned, and what to change; it is false if there is nothing to say."""

    @cached_property
    def policy(self) -> GymnasiumPolicy:
        """The greedy policy. It is the same object every time, and remembers where its hierarchy stands."""
        return self.fresh_policy()

    def fresh_policy(self) -> GymnasiumPolicy:
        """One more greedy policy, for another environment."""
        return self.setup.policy(self.agent_state)

    def evaluate(self, env: AnyEnv, episodes: int = 20, *, seed: int = 0) -> float:
        """The mean return of greedy episodes.

        Args:
            env: An environment that is wrapped like those of the training.
            episodes: How many episodes are played.
            seed: For the first reset; the following resets have the seeds after it.
        """
        policy, safe = self.fresh_policy(), checked(env, self.setup.codes.propositions)
        return float(np.mean([policy.play(safe, seed=seed + number) for number in range(episodes)]))
