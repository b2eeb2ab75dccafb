"""A hierarchy beside a labelled Gymnasium environment: it decides what is rewarded and when an episode ends."""

from __future__ import annotations

from typing import Any

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
from rewardmachines.envs.gymnasium.checks.single import checked
from rewardmachines.envs.gymnasium.labeling import AnyEnv


class HierarchyWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Lets a hierarchy decide: reward 1 and the end when it accepts, the end when it rejects.

    The environment must be labelled. The hierarchy advances on label events, the label after `reset` being the first;
    where it stands is in `info["hierarchy_state"]`. If the environment ends by itself before the hierarchy has decided,
    the episode ends without reward. With `append_state` the observation also tells where the hierarchy stands, which
    makes the task Markov for any agent: a one-hot vector over the states of the smallest flat machine.
    """

    checks_what_it_wraps = True

    def __init__(self, env: AnyEnv, hierarchy: Hierarchy, *, append_state: bool = False) -> None:
        super().__init__(env)
        if not env.has_wrapper_attr("propositions"):
            raise RewardMachineError(
                "the environment is not labelled: wrap it in LabelingWrapper(env, labels=..., propositions=[...]) first"
            )
        known = env.get_wrapper_attr("propositions")
        if missing := [p for p in hierarchy.used_propositions if p not in known]:
            hint = suggestion(missing[0], known)
            raise UnknownPropositionError(
                f"the hierarchy mentions '{missing[0]}', but the environment only knows {', '.join(known)}{hint}"
            )
        self.hierarchy = hierarchy
        self._checked = checked(env, known)
        self._encoder = StateEncoder(hierarchy, env.observation_space) if append_state else None
        if self._encoder is not None:
            self.observation_space = self._encoder.space
        self._state = initial_state(hierarchy)
        self._label: Label | None = None

    @property
    def hierarchy_state(self) -> HierarchyState:
        """Where the hierarchy stands."""
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self._checked.reset(seed=seed, options=options)
        self._state, self._label = initial_state(self.hierarchy), None
        if self._encoder is not None:
            self._encoder.reset()
        self._feed(info["label"])
        return self._observed(observation), self._described(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, _, ended, truncated, info = self._checked.step(action)
        self._feed(info["label"])
        verdict = verdict_of(self.hierarchy, self._state)
        reward = 1.0 if verdict is Verdict.ACCEPT else 0.0
        terminated = ended or verdict is not Verdict.NEITHER
        return self._observed(observation), reward, terminated, truncated and not terminated, self._described(info)

    def _feed(self, label: Label) -> None:
        self._state = move_on_event(self.hierarchy, self._state, self._label, label)
        if self._encoder is not None:
            self._encoder.feed(self._label, label)
        self._label = label

    def _observed(self, observation: Any) -> Any:
        return observation if self._encoder is None else self._encoder.encode(observation)

    def _described(self, info: dict[str, Any]) -> dict[str, Any]:
        verdict = verdict_of(self.hierarchy, self._state)
        return {**info, "hierarchy_state": str(self._state), "verdict": verdict.value}


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
        """Goes back to the initial state of the machine."""
        self._state = initial_state(self._flat)

    def feed(self, before: Label | None, label: Label) -> None:
        """Moves the machine if the label is an event."""
        self._state = move_on_event(self._flat, self._state, before, label)

    def encode(self, observation: Any) -> Any:
        """The observation with the state of the machine."""
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
