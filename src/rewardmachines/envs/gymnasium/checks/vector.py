"""A third-party vector environment, of which every returned value is checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, TypeAlias

import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import iterate

from rewardmachines.core.formula import Label
from rewardmachines.envs.gymnasium.checks.faults import EnvironmentFault, LabelingError, name_of, short, told
from rewardmachines.envs.gymnasium.checks.labels import read_label
from rewardmachines.envs.gymnasium.checks.observations import observation_check
from rewardmachines.envs.gymnasium.checks.results import RESET, STEP, reset_fault
from rewardmachines.envs.gymnasium.checks.single import PASSED, WRAP_IT

AnyVectorEnv: TypeAlias = VectorEnv[Any, Any, Any]
Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Result: TypeAlias = tuple[Any, Numbers, Numbers, Numbers, dict[str, Any]]


class CheckedVectorEnv:
    """Resets and steps environments side by side, and raises one error for whatever is wrong in any of them.

    Errors name the environment by its index and count the steps of the vector.
    """

    def __init__(self, envs: AnyVectorEnv) -> None:
        self.envs = envs
        self._name = name_of(envs)
        self._step = 0
        self._fault = observation_check(envs.single_observation_space).fault
        self._fault_of_all = observation_check(envs.observation_space).fault

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins episodes in all environments.

        Raises:
            EnvironmentFault: An environment failed, or did not show an observation of its space.
        """
        self._step = 0
        try:
            returned = self.envs.reset(seed=seed)
        except Exception as problem:
            self._failed("reset", RESET, problem)
        if fault := reset_fault(returned):
            raise EnvironmentFault(f"{self._moment()}: {fault}")
        self._check_all(returned[0])
        return returned

    def step(self, actions: Any) -> Result:
        """Acts in all environments.

        Raises:
            EnvironmentFault: An environment failed, or returned what Gymnasium does not allow.
        """
        self._step += 1
        try:
            returned: Any = self.envs.step(actions)
        except Exception as problem:
            self._failed("step", STEP, problem)
        if not isinstance(returned, (tuple, list)) or len(returned) != 5:
            raise EnvironmentFault(f"{self._moment()}: step returned {short(returned)}, but it must return {STEP}")
        observations, rewards, terminated, truncated, info = returned
        self._check_all(observations)
        flags = (self._flags("terminated", terminated), self._flags("truncated", truncated))
        return observations, self._rewards(rewards, observations), *flags, info

    def final(self, index: int, info: dict[str, Any], propositions: frozenset[str]) -> tuple[Any, Label]:
        """The last observation and label of an episode after which the next has begun within the same step.

        Raises:
            EnvironmentFault: They are not in `info`, or not allowed.
        """
        try:
            observation, found = info["final_obs"][index], info["final_info"]["label"]
        except (KeyError, IndexError, TypeError):
            raise EnvironmentFault(
                f"{self._moment(index)}: the episode ended, but info has no 'final_obs' or no label in 'final_info'"
            ) from None
        self._check(index, observation)
        return observation, self._label(index, found[index], propositions, lambda: observation)

    def _check(self, index: int, observation: Any) -> None:
        if fault := self._fault(observation):
            raise EnvironmentFault(
                f"{self._moment(index)}: a wrong observation: {fault} (observation: {short(observation)})"
            )

    def labels(self, info: dict[str, Any], observations: Any, propositions: frozenset[str]) -> list[Label]:
        """The labels of all environments.

        Args:
            info: What the vector environment returned as such.
            observations: Those of all environments, for messages.
            propositions: Those that there are.

        Raises:
            LabelingError: There are none, or one is not allowed.
        """
        found = info.get("label")
        if isinstance(found, dict) or (isinstance(found, np.ndarray) and found.dtype != object):
            raise LabelingError(
                f"{self._moment()}: Gymnasium has made one {type(found).__name__} of all info['label']: "
                "let each environment put a frozenset of propositions there, as LabelingWrapper does"
            )
        if found is None or len(found) != self.envs.num_envs:
            raise LabelingError(f"{self._moment()}: there is no label for each environment in info: {WRAP_IT}")
        return [self._label(i, one, propositions, partial(self._one, observations, i)) for i, one in enumerate(found)]

    def _label(self, index: int, found: Any, propositions: frozenset[str], observation: Callable[[], Any]) -> Label:
        """The label of one environment; its observation is only made if an error needs it."""
        try:
            return read_label(found, propositions)
        except LabelingError as problem:
            seen = f"(observation: {short(observation())})"
            raise LabelingError(f"{self._moment(index)}: info['label'] is {problem} {seen}") from None

    def _failed(self, function: str, form: str, problem: Exception) -> NoReturn:
        """Raises the error for one that came out of the vector environment."""
        if isinstance(problem, PASSED):
            raise problem
        hint = f"; each environment must return {form}" if "unpack" in str(problem) else ""
        raise EnvironmentFault(f"{self._moment()}: {function} failed with {told(problem)}{hint}") from problem

    def _check_all(self, observations: Any) -> None:
        if fault := self._fault_of_all(observations):
            for i, one in enumerate(self._each(observations)):
                self._check(i, one)
            raise EnvironmentFault(f"{self._moment()}: wrong observations: {fault}")

    def _rewards(self, rewards: Any, observations: Any) -> Numbers:
        array: Numbers = np.asarray(rewards)
        if array.shape != (self.envs.num_envs,) or array.dtype.kind not in "fiub":
            raise EnvironmentFault(f"{self._moment()}: the rewards are {short(rewards)}, not a number for each")
        if not np.isfinite(array).all():
            index = int(np.argmin(np.isfinite(array)))
            seen = f"(observation: {short(self._each(observations)[index])})"
            raise EnvironmentFault(f"{self._moment(index)}: the reward is {array[index]}, which is not finite {seen}")
        return array

    def _flags(self, name: str, flags: Any) -> Numbers:
        array: Numbers = np.asarray(flags)
        if array.shape != (self.envs.num_envs,) or array.dtype != np.bool_:
            raise EnvironmentFault(f"{self._moment()}: {name} is {short(flags)}, not True or False for each")
        return array

    def _moment(self, index: int | None = None) -> str:
        """Environment and step of an error, for the beginning of its message."""
        where = "" if index is None else f", environment {index} of {self.envs.num_envs}"
        return f"{self._name}{where}, " + (f"step {self._step}" if self._step else "reset")

    def _one(self, observations: Any, index: int) -> Any:
        return self._each(observations)[index]

    def _each(self, observations: Any) -> list[Any]:
        """The observations one by one; of observations that are of no known form, all together for each."""
        try:
            return list(iterate(self.envs.observation_space, observations))
        except Exception:
            return [observations] * self.envs.num_envs
