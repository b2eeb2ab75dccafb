"""Your own Gymnasium environment with labels: the propositions that are true in each of its states."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import gymnasium

from rewardmachines.core.formula import Label
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv
from rewardmachines.envs.gymnasium.checks import (
    LabelingError,
    is_flag,
    read_label,
    read_propositions,
    short,
    summary_of,
)
from rewardmachines.traces import Outcome

AnyEnv: TypeAlias = gymnasium.Env[Any, Any]
Labels: TypeAlias = Callable[..., Iterable[str] | Mapping[str, bool]]
_INCOMPLETE: Final = Outcome.INCOMPLETE.value
Goal: TypeAlias = Callable[[Any, float, bool, dict[str, Any]], bool]


def reached_goal(observation: Any, reward: float, terminated: bool, info: dict[str, Any]) -> bool:  # noqa: ARG001
    """The usual meaning of an end: with a positive reward it was the goal, otherwise a dead end."""
    return terminated and reward > 0


class LabelingWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Puts the label of each state into `info["label"]`, and what became of the episode into `info["outcome"]`.

    `labels` is called with the observation, or with `(observation, info)` or `(observation, info, env)` if it takes two
    or three arguments, and returns the propositions that are true: a set, list or tuple of them, or a dict that says of
    each whether it is. `goal(observation, reward, terminated, info)` says whether an episode that the environment ended
    reached the goal or a dead end; running out of time leaves an episode incomplete.

    What the environment and the two functions return is checked; `EnvironmentFault` names environment and step.
    """

    checks_what_it_wraps = True

    def __init__(self, env: AnyEnv, *, labels: Labels, propositions: Iterable[str], goal: Goal = reached_goal) -> None:
        self._checked = CheckedEnv(env)
        super().__init__(env)
        self.propositions = read_propositions(propositions)
        self._known = frozenset(self.propositions)
        self._labels = labels
        self._arguments = _positional(labels)
        self._goal = goal

    def label(self, observation: Any, info: dict[str, Any]) -> Label:
        """The checked label of the labelling function.

        Raises:
            LabelingError: The function failed, or returned something else than propositions.
        """
        try:
            returned = (
                self._labels(observation)
                if self._arguments == 1
                else self._labels(*(observation, info, self.env)[: self._arguments])
            )
        except Exception as problem:
            what = f"the labelling function failed with {summary_of(problem)}"
            raise self._checked.fault(what, observation) from problem
        try:
            return read_label(returned, self._known)
        except LabelingError as problem:
            raise self._checked.fault(f"the labelling function returned {problem}", observation) from None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self._checked.reset(seed=seed, options=options)
        return observation, {**info, "label": self.label(observation, info)}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self._checked.step(action)
        outcome = _INCOMPLETE
        if terminated:
            goal = self._is_goal(observation, float(reward), bool(terminated), info)
            outcome = (Outcome.GOAL if goal else Outcome.DEAD_END).value
        info = {**info, "label": self.label(observation, info), "outcome": outcome}
        return observation, reward, terminated, truncated, info

    def _is_goal(self, observation: Any, reward: float, terminated: bool, info: dict[str, Any]) -> bool:
        try:
            goal = self._goal(observation, reward, terminated, info)
        except Exception as problem:
            raise self._checked.fault(f"the goal function failed with {summary_of(problem)}", observation) from problem
        if not is_flag(goal):
            what = f"the goal function returned {short(goal)}, which is neither True nor False"
            raise self._checked.fault(what, observation)
        return bool(goal)


def _positional(function: Callable[..., Any]) -> int:
    """The number of the arguments (observation, info, env) that the labelling function takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 3
    wanted = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    if not 1 <= len(wanted) <= 3:
        raise LabelingError(
            "the labelling function takes (observation), (observation, info) or (observation, info, env)"
        )
    return len(wanted)
