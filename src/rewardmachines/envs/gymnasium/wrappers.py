"""Your own Gymnasium environment with labels, and with a hierarchy that says what there is to do in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces

from rewardmachines.core.errors import RewardMachineError, UnknownPropositionError
from rewardmachines.core.events import move_on_event
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.minimization import minimize
from rewardmachines.core.traversal import HierarchyState, Verdict, initial_state, verdict_of
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
            found = self._labels(*arguments)
            label = None if isinstance(found, str) else frozenset(found)
        except Exception as problem:
            raise LabelingError(
                f"the labelling function failed with {type(problem).__name__}: {problem} "
                f"(observation: {_short(observation)})"
            ) from problem
        if label is None:
            raise LabelingError(
                f"the labelling function returned the text {found!r}: return a set, such as {{{found!r}}}"
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


class HierarchyWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Lets a hierarchy decide: reward 1 and the end when it accepts, the end when it rejects.

    The environment must be labelled. The hierarchy advances on label events, the label after `reset` being the first;
    where it stands is in `info["hierarchy_state"]`. If the environment ends by itself before the hierarchy has decided,
    the episode ends without reward. With `append_state` the observation also tells where the hierarchy stands, which
    makes the task Markov for any agent: a one-hot vector over the states of the smallest flat machine.
    """

    def __init__(self, env: AnyEnv, hierarchy: Hierarchy, *, append_state: bool = False) -> None:
        super().__init__(env)
        known = env.get_wrapper_attr("propositions") if _has_attribute(env, "propositions") else None
        if known is None:
            raise RewardMachineError(
                "the environment is not labelled: wrap it in LabelingWrapper(env, labels=..., propositions=[...]) first"
            )
        if missing := [p for p in hierarchy.propositions if p not in known and _is_used(hierarchy, p)]:
            hint = suggestion(missing[0], known)
            raise UnknownPropositionError(
                f"the hierarchy mentions '{missing[0]}', but the environment only knows {', '.join(known)}{hint}"
            )
        self.hierarchy = hierarchy
        self._encoder = StateEncoder(hierarchy, env.observation_space) if append_state else None
        if self._encoder is not None:
            self.observation_space = self._encoder.space
        self._state = initial_state(hierarchy)
        self._label: Label | None = None

    @property
    def hierarchy_state(self) -> HierarchyState:
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._state, self._label = initial_state(self.hierarchy), None
        if self._encoder is not None:
            self._encoder.reset()
        self._feed(info["label"])
        return self._observed(observation), self._described(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, ended, truncated, info = self.env.step(action)
        self._feed(info["label"])
        said = verdict_of(self.hierarchy, self._state)
        reward = 1.0 if said is Verdict.ACCEPT else 0.0
        terminated = ended or said is not Verdict.NEITHER
        return self._observed(observation), reward, terminated, truncated and not terminated, self._described(info)

    def _feed(self, label: Label) -> None:
        self._state = move_on_event(self.hierarchy, self._state, self._label, label)
        if self._encoder is not None:
            self._encoder.feed(self._label, label)
        self._label = label

    def _observed(self, observation: Any) -> Any:
        return observation if self._encoder is None else self._encoder.encode(observation)

    def _described(self, info: dict[str, Any]) -> dict[str, Any]:
        said = verdict_of(self.hierarchy, self._state)
        return {**info, "hierarchy_state": str(self._state), "verdict": said.value}


class StateEncoder:
    """Observations with the state of the smallest flat machine behind them.

    Vectors and numbers are joined with it into one vector; anything else becomes a pair, `observation` and `task`.
    """

    def __init__(self, hierarchy: Hierarchy, space: spaces.Space[Any]) -> None:
        self._flat = minimize(flatten(hierarchy))
        self._index = {state: i for i, state in enumerate(self._flat[self._flat.root].states)}
        self._space = space
        self.space = self._joined_space()
        self.reset()

    def reset(self) -> None:
        self._state = initial_state(self._flat)

    def feed(self, before: Label | None, label: Label) -> None:
        self._state = move_on_event(self._flat, self._state, before, label)

    def encode(self, observation: Any) -> Any:
        task = np.zeros(len(self._index), np.float32)
        task[self._index[self._state.state]] = 1
        if isinstance(self._space, spaces.Discrete):
            number = np.zeros(int(self._space.n), np.float32)
            number[int(observation) - int(self._space.start)] = 1
            return np.concatenate([number, task])
        if self._is_vector:
            return np.concatenate([np.asarray(observation, np.float32), task])
        return {"observation": observation, "task": task}

    @property
    def _is_vector(self) -> bool:
        return isinstance(self._space, spaces.Box) and len(self._space.shape) == 1

    def _joined_space(self) -> spaces.Space[Any]:
        states = len(self._index)
        if isinstance(self._space, spaces.Discrete):
            return spaces.Box(0, 1, (int(self._space.n) + states,), np.float32)
        if self._is_vector:
            assert isinstance(self._space, spaces.Box)
            low = np.concatenate([self._space.low.astype(np.float32), np.zeros(states, np.float32)])
            high = np.concatenate([self._space.high.astype(np.float32), np.ones(states, np.float32)])
            return spaces.Box(low, high, dtype=np.float32)
        return spaces.Dict({"observation": self._space, "task": spaces.Box(0, 1, (states,), np.float32)})


def _positional(function: Callable[..., Any]) -> int:
    """How many of (observation, info, env) the function wants."""
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


def _has_attribute(env: AnyEnv, name: str) -> bool:
    return env.has_wrapper_attr(name)


def _is_used(hierarchy: Hierarchy, proposition: str) -> bool:
    return any(proposition in machine.propositions for machine in hierarchy.reachable())


def _short(observation: Any) -> str:
    shown = repr(observation)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"
