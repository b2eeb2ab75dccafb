"""CRM for agents of Stable-Baselines3: replay buffers that add counterfactual experiences (the extra `sb3`).

env = HierarchyWrapper(labelled, task, append_state=True, counterfactuals=True)
DQN("MlpPolicy", env, replay_buffer_class=CounterfactualReplayBuffer)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.gymnasium.wrappers import Counterfactuals
from rewardmachines.files.extras import to_install

try:
    from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
except ImportError as problem:  # it brings PyTorch, which nothing else here needs
    raise ImportError(f"Stable-Baselines3 is not installed: {to_install('sb3')}") from problem

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class _Counterfactual(ABC):
    """Adds the experiences of all undecided states, among them the experience that was made.

    Room is counted in experiences: a step takes as many rows as the flat machine has undecided states. One batch is as
    large as before.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        if options.get("optimize_memory_usage"):
            raise RewardMachineError("counterfactual experiences do not follow each other: no optimize_memory_usage")
        super().__init__(*arguments, **options)

    def add(
        self,
        obs: Any,
        next_obs: Any,
        action: Numbers,
        reward: Numbers,  # noqa: ARG002
        done: Numbers,  # noqa: ARG002
        infos: list[dict[str, Any]],
    ) -> None:
        """Adds the experiences of a step of N environments.

        Args:
            obs: The observations before the step.
            next_obs: The observations after the step, before any reset.
            action: The actions.
            reward: Ignored: the experiences include it.
            done: Ignored likewise; a time limit is not an end here.
            infos: The `info` of the step, with the counterfactual experiences.

        Raises:
            RewardMachineError: There are none in `infos`.
        """
        others = [_experiences_in(info) for info in infos]
        # The environments have one task, and so equally many experiences each: row i of all of them is one addition.
        for i in range(len(others[0].reward)):
            super().add(  # type: ignore[misc]
                self._with_task(obs, np.stack([one.task[i] for one in others])),
                self._with_task(next_obs, np.stack([one.next_task[i] for one in others])),
                action,
                np.array([one.reward[i] for one in others]),
                np.array([one.terminated[i] for one in others]),
                [{} for _ in infos],
            )

    @abstractmethod
    def _with_task(self, observations: Any, task: Numbers) -> Any:
        """The observations with other states of the task."""


class CounterfactualReplayBuffer(_Counterfactual, ReplayBuffer):  # type: ignore[misc]
    """CRM for `MlpPolicy`, where the state of the task is the end of a vector."""

    def _with_task(self, observations: Any, task: Numbers) -> Any:
        return np.concatenate([observations[:, : -task.shape[1]], task], axis=1)


class CounterfactualDictReplayBuffer(_Counterfactual, DictReplayBuffer):  # type: ignore[misc]
    """CRM for `MultiInputPolicy`, where observations are pairs of an observation and the state of the task."""

    def _with_task(self, observations: Any, task: Numbers) -> Any:
        return {**observations, "task": task}


def _experiences_in(info: dict[str, Any]) -> Counterfactuals:
    found = info.get("counterfactuals")
    if not isinstance(found, Counterfactuals):
        raise RewardMachineError(
            "there are no counterfactual experiences in info: "
            "HierarchyWrapper(env, hierarchy, append_state=True, counterfactuals=True)"
        )
    return found
