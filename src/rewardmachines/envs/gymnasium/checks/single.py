"""A third-party environment, of which every returned value is checked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Final, NoReturn, TypeAlias

import gymnasium

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.gymnasium.checks.faults import (
    EnvironmentFault,
    LabelingError,
    OutOfBoundsWarning,
    name_of,
    short,
    told,
)
from rewardmachines.envs.gymnasium.checks.labels import read_label
from rewardmachines.envs.gymnasium.checks.observations import observation_check
from rewardmachines.envs.gymnasium.checks.results import RESET, STEP, reset_fault, step_fault

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
            env: What is stepped. If it is one of our wrappers, which check what they wrap, nothing is checked twice.
            propositions: Those that labels may have; None for an environment that is not labelled yet.
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
        raise EnvironmentFault(f"{self.moment}: {function} failed with {told(problem)}{hint}") from problem

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
        propositions: Those that labels may have.
    """
    if isinstance(env, CheckedEnv) or checks_itself(env):
        return env
    return CheckedEnv(env, propositions=propositions)
