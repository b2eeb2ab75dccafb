"""A trained agent that acts greedily in a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium
import jax
import numpy as np

from rewardmachines.agents.gymnasium.driver import Crew, Programs, StepResult
from rewardmachines.agents.gymnasium.observations import Reading
from rewardmachines.agents.gymnasium.vector_env import LabelCodes
from rewardmachines.agents.protocol import Task
from rewardmachines.envs.gymnasium.checks.single import CheckedEnv, checked

AnyEnv: TypeAlias = gymnasium.Env[Any, Any]


@dataclass
class GymnasiumPolicy:
    """Acts greedily. It remembers where its hierarchy stands, so it must be told when an episode begins.

    policy.reset(info["label"])
    action = policy.act(observation, info["label"])
    """

    programs: Programs
    task: Task
    agent_state: Any
    """What the agent has learned."""
    root: int
    """The number of the machine that the task starts in."""
    reading: Reading
    codes: LabelCodes
    first_action: int = 0
    """The least action of the environment; the agent counts its actions from 0."""

    def __post_init__(self) -> None:
        self._label: Any = None
        self._crew: Crew | None = None
        self._action: Any = None
        self._key = jax.random.key(0)  # for what is left to chance where no option can be chosen

    def reset(self, label: Iterable[str]) -> None:
        """Begins an episode.

        Args:
            label: The propositions that hold in its first moment.
        """
        self._label, self._crew = self.codes.one(label)[None], None

    def act(self, observation: Any, label: Iterable[str]) -> int:
        """The action for the present moment, which the last action has led to.

        Args:
            observation: What the environment shows.
            label: The propositions that hold.
        """
        if self._label is None:
            self.reset(label)
        now, bits = self.reading.checked(observation)[None], self.codes.one(label)[None]
        self._key, follow_key, act_key = jax.random.split(self._key, 3)
        if self._crew is None:
            self._crew = self.programs.begin(self.task, self.root, now, self._label, follow_key)
        else:
            no, yes = np.zeros(1, bool), np.ones(1, bool)
            result = StepResult(
                action=self._action,
                after=now,
                label=bits,
                is_terminated=no,
                is_over=no,
                is_valid=yes,
                next_now=now,
                next_label=bits,
                is_fresh=no,
            )
            self._crew = self.programs.follow(self.task, self._crew, result, follow_key)
        self._action, self._crew = self.programs.act_greedily(self.task, self.agent_state, self._crew, act_key)
        return int(self._action[0]) + self.first_action

    def play(self, env: AnyEnv | CheckedEnv, *, seed: int | None = None) -> float:
        """Plays an episode and gives its return.

        Args:
            env: An environment that is labelled, such as one in a `LabelingWrapper`.
            seed: For its reset.

        Raises:
            EnvironmentFault: The environment or its labels are not what they must be.
        """
        safe, returned, done = checked(env, self.codes.propositions), 0.0, False
        observation, info = safe.reset(seed=seed)
        self.reset(info["label"])
        while not done:
            observation, reward, terminated, truncated, info = safe.step(self.act(observation, info["label"]))
            returned += float(reward)
            done = terminated or truncated
        return returned
