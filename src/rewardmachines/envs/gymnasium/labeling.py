"""Your own Gymnasium environment with labels: the propositions that are true in each of its states."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import gymnasium

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.traces import Outcome

AnyEnv: TypeAlias = gymnasium.Env[Any, Any]
Labels: TypeAlias = Callable[..., Iterable[str]]
Goal: TypeAlias = Callable[[Any, float, bool, dict[str, Any]], bool]


class LabelingError(RewardMachineError):
    """A labelling function that did not do its job."""


def reached_goal(observation: Any, reward: float, terminated: bool, info: dict[str, Any]) -> bool:  # noqa: ARG001
    """The usual meaning of an end: with a positive reward it was the goal, otherwise a dead end."""
    return terminated and reward > 0


class LabelingWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Puts the label of each state into `info["label"]`, and what became of the episode into `info["outcome"]`.

    `labels` is called with the observation, or with `(observation, info)` or `(observation, info, env)` if it takes two
    or three arguments, and returns the propositions that are true. `goal(observation, reward, terminated, info)` tells
    goals from dead ends when the environment ends; running out of time leaves an episode incomplete.
    """

    def __init__(self, env: AnyEnv, *, labels: Labels, propositions: Iterable[str], goal: Goal = reached_goal) -> None:
        super().__init__(env)
        self.propositions = tuple(propositions)
        self._labels = labels
        self._arguments = _positional(labels)
        self._goal = goal

    def label(self, observation: Any, info: dict[str, Any]) -> Label:
        """What the labelling function says, checked."""
        arguments = (observation, info, self.env)[: self._arguments]
        try:
            returned = self._labels(*arguments)
            label = None if isinstance(returned, str) else frozenset(returned)
        except Exception as problem:
            raise LabelingError(
                f"the labelling function failed with {type(problem).__name__}: {problem} "
                f"(observation: {_short(observation)})"
            ) from problem
        if label is None:
            raise LabelingError(
                f"the labelling function returned the text {returned!r}: return a set, such as {{{returned!r}}}"
            )
        if unknown := [p for p in label if p not in self.propositions]:
            hint = suggestion(str(unknown[0]), self.propositions)
            known = ", ".join(self.propositions)
            raise LabelingError(
                f"the labelling function returned {unknown[0]!r}, which is not among the propositions ({known}){hint}"
            )
        return label

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, "label": self.label(observation, info)}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        outcome = Outcome.INCOMPLETE
        if terminated:
            goal = self._goal(observation, float(reward), terminated, info)
            outcome = Outcome.GOAL if goal else Outcome.DEAD_END
        info = {**info, "label": self.label(observation, info), "outcome": outcome.value}
        return observation, reward, terminated, truncated, info


def _positional(function: Callable[..., Any]) -> int:
    """How many of the arguments (observation, info, env) the labelling function takes."""
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


def _short(observation: Any) -> str:
    shown = repr(observation)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"
