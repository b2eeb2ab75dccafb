"""Third-party environments, single and vectorized, of which every returned value is checked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, NoReturn, TypeAlias

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import iterate

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.envs.gymnasium.checks import (
    RESET,
    STEP,
    EnvironmentFault,
    LabelingError,
    OutOfBoundsWarning,
    name_of,
    observation_check,
    read_label,
    reset_fault,
    short,
    step_fault,
    summary_of,
)

AnyEnv: TypeAlias = gymnasium.Env[Any, Any]
Result: TypeAlias = tuple[Any, Any, bool, bool, dict[str, Any]]

PASSED: Final = (RewardMachineError, gymnasium.error.ResetNeeded)
"""Errors that say enough, and are passed on as they are."""
BOUNDS_EVERY: Final = 256
"""The bounds of float observations are checked at the first step and then at every 256th, since it takes time and
leads to a warning only."""


WRAP_IT: Final = "wrap the environment in LabelingWrapper(env, labels=..., propositions=[...])"


class CheckedEnv:
    """Resets and steps an environment, and raises one error, with environment and step, for whatever is wrong.

    If the environment is labelled, `info["label"]` is a frozenset, whatever it was before.
    """

    def __init__(
        self, env: AnyEnv, *, propositions: Iterable[str] | None = None, task: str | None = None
    ) -> None:  # fmt: skip
        """Looks at the observation space.

        Args:
            env: The environment. If it is one of our wrappers, which check what they wrap, nothing is checked twice.
            propositions: The propositions of labels; None for an environment that is not labelled yet.
            task: The name of its task, for errors, where there are several.

        Raises:
            EnvironmentFault: It is no environment, or has no observation space.
        """
        self.env = env
        self._task = "" if task is None else f"task '{task}': "
        self.name = f"{self._task}{name_of(env)}"
        self._propositions = None if propositions is None else frozenset(propositions)
        self._is_checked = checks_itself(env)
        self._episode = self._steps = self._begun = 0
        self._may_warn = True
        if not isinstance(env, gymnasium.Env):
            raise EnvironmentFault(f"{self._task}{short(env)} is no Gymnasium environment")
        space = getattr(env, "observation_space", None)
        if not isinstance(space, gymnasium.spaces.Space):
            raise EnvironmentFault(f"{self.name} has no observation_space")
        check = observation_check(space)
        self._fault, self._beyond = check.fault, check.beyond  # looked up once, because they are called at every step

    @property
    def moment(self) -> str:
        """The environment, the step and the episode, for the beginning of a message."""
        steps = self._steps - self._begun
        when = f"step {steps}" if steps else "reset"
        return f"{self.name}, {when} of episode {self._episode}"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode.

        Raises:
            EnvironmentFault: The environment failed, or did not return an observation of its space and a dict.
        """
        self._episode, self._begun = self._episode + 1, self._steps
        try:
            returned = self.env.reset(seed=seed, options=options)
        except Exception as problem:
            self._failed("reset", RESET, problem)
        if self._is_checked:
            return returned
        if fault := reset_fault(returned):
            raise EnvironmentFault(f"{self.moment}: {fault}")
        observation, info = returned
        if (fault := self._fault(observation)) or self._episode == 1:
            self._look(observation, fault)
        return observation, info if self._propositions is None else self._labelled(observation, info)

    def step(self, action: Any) -> Result:
        """Acts.

        Raises:
            EnvironmentFault: The environment failed, or returned what Gymnasium does not allow.
        """
        self._steps += 1
        try:
            returned: Any = self.env.step(action)
        except Exception as problem:
            self._failed("step", STEP, problem)
        if self._is_checked:
            trusted: Result = returned
            return trusted
        if fault := step_fault(returned):
            seen = f" (observation: {short(returned[0])})" if isinstance(returned, tuple) and returned else ""
            raise EnvironmentFault(f"{self.moment}: {fault}{seen}")
        observation, reward, terminated, truncated, info = returned
        if (fault := self._fault(observation)) or not self._steps % BOUNDS_EVERY:
            self._look(observation, fault)
        if self._propositions is not None:
            info = self._labelled(observation, info)
        return observation, reward, terminated, truncated, info

    def fault(self, what: str, observation: Any) -> LabelingError:
        """The error for a wrong label, with the environment, the step and the observation."""
        return LabelingError(f"{self.moment}: {what} (observation: {short(observation)})")

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def _labelled(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        """The `info` of a labelled environment, with the label as a frozenset."""
        assert self._propositions is not None
        if "label" not in info:
            raise self.fault(f"there is no label in info: {WRAP_IT}", observation)
        try:
            label = read_label(info["label"], self._propositions)
        except LabelingError as problem:
            raise self.fault(f"info['label'] is {problem}", observation) from None
        return info if label is info["label"] else {**info, "label": label}

    def _failed(self, function: str, form: str, problem: Exception) -> NoReturn:
        """Raises the error for one that the environment raised."""
        if isinstance(problem, EnvironmentFault) and self._task:
            raise type(problem)(f"{self._task}{problem}") from problem.__cause__
        if isinstance(problem, PASSED):
            raise problem
        # Gymnasium's own wrappers unpack what they get, and say no more than that there was too little of it.
        hint = f"; it must return {form}" if "unpack" in str(problem) else ""
        raise EnvironmentFault(f"{self.moment}: {function} failed with {summary_of(problem)}{hint}") from problem

    def _look(self, observation: Any, fault: str | None) -> None:
        """Raises the error for an observation in which there is a fault; warns of one that leaves its bounds."""
        if fault:
            raise EnvironmentFault(f"{self.moment}: a wrong observation: {fault} (observation: {short(observation)})")
        if self._may_warn and (what := self._beyond(observation)):
            self._may_warn = False
            warnings.warn(f"{self.name}: observations leave their space: {what}", OutOfBoundsWarning, stacklevel=3)


def checks_itself(env: Any) -> bool:
    """Whether an environment is one of our wrappers, which check what they wrap."""
    return getattr(env, "checks_what_it_wraps", False)


def checked(env: AnyEnv | CheckedEnv, propositions: Iterable[str]) -> AnyEnv | CheckedEnv:
    """A labelled environment that is checked: as it is, if it is already.

    Args:
        env: An environment with labels in `info`.
        propositions: The propositions of labels.
    """
    if isinstance(env, CheckedEnv) or checks_itself(env):
        return env
    return CheckedEnv(env, propositions=propositions)


AnyVectorEnv: TypeAlias = VectorEnv[Any, Any, Any]
Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
VectorResult: TypeAlias = tuple[Any, Numbers, Numbers, Numbers, dict[str, Any]]


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

    def step(self, actions: Any) -> VectorResult:
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
            info: The `info` of the vector environment.
            observations: The observations of all environments, for messages.
            propositions: The known propositions.

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
        raise EnvironmentFault(f"{self._moment()}: {function} failed with {summary_of(problem)}{hint}") from problem

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


def make_checked(
    make_env: Callable[[], Any], *, task: str | None = None, propositions: Iterable[str] | None = None
) -> CheckedEnv:  # fmt: skip
    """Makes an environment whose results are checked.

    Args:
        make_env: The function that makes it.
        task: The name of its task, for errors.
        propositions: The propositions of labels; None for an environment that is not labelled, or not looked at yet.

    Raises:
        EnvironmentFault: The function failed, or made something else.
    """
    try:
        env = make_env()
    except PASSED:
        raise
    except Exception as problem:
        whose = "" if task is None else f"task '{task}': "
        raise EnvironmentFault(f"{whose}the environment cannot be made: {summary_of(problem)}") from problem
    return CheckedEnv(env, propositions=propositions, task=task)
