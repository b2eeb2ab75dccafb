"""Wrappers for your own Gymnasium environments: labels, noise, a hierarchy, discrete actions. They need no JAX.

`LabelingWrapper` gives the propositions that are true in each state; `NoisyLabels` makes some of them wrong. With
`HierarchyWrapper`, a hierarchy beside the labelled environment decides what is rewarded and when an episode ends.
`DiscreteActions` replaces continuous actions by a choice among a few.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rewardmachines.core.errors import RewardMachineError, UnknownPropositionError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.minimization import minimize
from rewardmachines.core.traversal import HierarchyState, Verdict, initial_state, move_on_event, verdict_of
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv, checked
from rewardmachines.envs.gymnasium.checks import (
    LabelingError,
    is_flag,
    read_label,
    read_propositions,
    short,
    summary_of,
)
from rewardmachines.envs.gymnasium.rewards import (
    AnyReward,
    Potential,
    RewardFunction,
    RewardSource,
    Shaping,
    reward_function,
)
from rewardmachines.envs.noise import WorldNoise, labels_that_occur
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


class NoisyLabels(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Shows wrong labels and wrong outcomes of a labelled environment, with the probabilities that are given.

    A label event, a label that differs from the last one, is replaced with the probability `labels` by another label,
    until the next event. The outcome with which an episode ends is changed with the probability `outcomes`: a goal to
    an episode that is truncated without success, any other end to a goal. Observations and rewards stay as they are.

    What is wrong depends on the seed of the episode and on its actions, so that an episode can be replayed. An episode
    that is reset without a seed continues from the last one.
    """

    checks_what_it_wraps = True

    def __init__(
        self,
        env: AnyEnv,
        *,
        labels: float = 0.0,
        outcomes: float = 0.0,
        alphabet: Iterable[Iterable[str]] | None = None,
    ) -> None:
        """Wraps an environment.

        Args:
            env: A labelled environment, such as one in a `LabelingWrapper`.
            labels: The probability that a label event is wrong.
            outcomes: The probability that the outcome of an episode is wrong.
            alphabet: The labels that can occur; the empty one and single propositions, if not given.

        Raises:
            RewardMachineError: The environment is not labelled, or a probability is not below a half.
        """
        super().__init__(env)
        self.propositions = _propositions_of(env)
        self._checked = checked(env, self.propositions)
        self.noise = WorldNoise(labels, outcomes)
        given = None if alphabet is None else [read_label(label, frozenset(self.propositions)) for label in alphabet]
        self._alphabet = labels_that_occur(given, self.propositions)
        self._history = hashlib.sha256(np.random.SeedSequence().generate_state(4).tobytes())
        self._true: Label | None = None
        self._shown: Label = frozenset()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._history = hashlib.sha256()
        self._history.update(f"reset {seed}".encode())
        observation, info = self._checked.reset(seed=seed, options=options)
        self._true = None
        return observation, {**info, "label": self._label(info["label"])}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._history.update(np.asarray(action).tobytes())
        observation, reward, terminated, truncated, info = self._checked.step(action)
        info = {**info, "label": self._label(info["label"])}
        if (terminated or truncated) and self._chance(2) < self.noise.outcomes:
            was_goal = terminated and info.get("outcome") == Outcome.GOAL.value
            terminated, truncated = not was_goal, was_goal
            info["outcome"] = (Outcome.INCOMPLETE if was_goal else Outcome.GOAL).value
        return observation, reward, terminated, truncated, info

    def _label(self, true: Label) -> Label:
        if true != self._true:
            others = [label for label in self._alphabet if label != true]
            is_wrong = self._chance(0) < self.noise.labels
            self._true, self._shown = true, others[int(self._chance(1) * len(others))] if is_wrong else true
        return self._shown

    def _chance(self, number: int) -> float:
        """A number from 0 to 1 of those that belong to the seed and the actions so far."""
        digest = self._history.digest()[8 * number : 8 * number + 7]
        return int.from_bytes(digest) / 2**56


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


class StateEncoder:
    """Observations with the state of the smallest flat machine behind them.

    Vectors and numbers are joined with it into one vector; anything else becomes a pair, `observation` and `task`.
    """

    def __init__(self, hierarchy: Hierarchy, space: spaces.Space[Any]) -> None:
        self.flat = minimize(flatten(hierarchy))
        self._index = {state: i for i, state in enumerate(self.flat[self.flat.root].states)}
        self._space = space
        self.space = self._joined_space()
        self.reset()

    def reset(self) -> None:
        """Goes back to the initial state of the machine."""
        self._state = initial_state(self.flat)

    def feed(self, before: Label | None, label: Label) -> None:
        """Moves the machine if the label is an event."""
        self._state = move_on_event(self.flat, self._state, before, label)

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


Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Counterfactuals(NamedTuple):
    """One step, from each of the E undecided states of a flat machine with S states."""

    task: Numbers
    """The states before the step, one-hot: E rows of S numbers, as they are appended to observations."""
    next_task: Numbers
    """The states after the step, one-hot."""
    reward: Numbers
    """E rewards, composed and shaped as the wrapper says."""
    terminated: Numbers
    """Whether the episode would have terminated: the machine has decided, or the environment has ended by itself."""


class _Moves(NamedTuple):
    """The transitions on one label from all undecided states."""

    next_state: Numbers
    is_accepted: Numbers
    is_decided: Numbers


class CounterfactualMachine:
    """The undecided states of a flat machine, and where labels lead from them."""

    def __init__(self, flat: Hierarchy, reward: RewardFunction, shaping: Shaping | None) -> None:
        """Looks at the machine.

        Args:
            flat: A hierarchy of one machine.
            reward: The function of the hierarchy's reward and the environment's.
            shaping: The reward for progress; none, if not given.
        """
        self._flat, self._reward = flat, reward
        states = [HierarchyState(flat.root, name) for name in flat[flat.root].states]
        self._index = {state.state: i for i, state in enumerate(states)}
        self._open = [state for state in states if verdict_of(flat, state) is Verdict.NEITHER]
        self._before = np.array([self._index[state.state] for state in self._open], int)
        self._one_hot = np.eye(len(states), dtype=np.float32)
        self._discount, self._potential = 1.0, np.zeros(len(states))
        if shaping is not None:
            potential = Potential(flat, weight=shaping.weight, labels=shaping.labels)
            self._discount, self._potential = shaping.discount, np.array([potential.of(state) for state in states])
        self._known: dict[Label | None, _Moves] = {}

    def of(self, before: Label | None, label: Label, environment_reward: float, has_ended: bool) -> Counterfactuals:
        """The counterfactual experiences of a step.

        Args:
            before: The label before the step.
            label: The label after it.
            environment_reward: The reward of the environment.
            has_ended: Whether the environment has ended by itself.
        """
        moves = self._moves(None if before == label else label)
        terminated = moves.is_decided | has_ended
        without, accepted = (self._reward(won, environment_reward) for won in (0.0, 1.0))
        shaped = np.where(terminated, 0.0, self._potential[moves.next_state]) * self._discount
        return Counterfactuals(
            task=self._one_hot[self._before],
            next_task=self._one_hot[moves.next_state],
            reward=np.where(moves.is_accepted, accepted, without) + shaped - self._potential[self._before],
            terminated=terminated,
        )

    def _moves(self, label: Label | None) -> _Moves:
        """The transitions on a label event; None stands for labels that are none."""
        if label not in self._known:
            after = [s if label is None else move_on_event(self._flat, s, None, label) for s in self._open]
            verdicts = [verdict_of(self._flat, state) for state in after]
            self._known[label] = _Moves(
                next_state=np.array([self._index[state.state] for state in after], int),
                is_accepted=np.array([v is Verdict.ACCEPT for v in verdicts], bool),
                is_decided=np.array([v is not Verdict.NEITHER for v in verdicts], bool),
            )
        return self._known[label]


class HierarchyWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Lets a hierarchy decide: reward 1 and the end when it accepts, the end when it rejects.

    The environment must be labelled. The hierarchy advances on label events (docs/events.md), the first after `reset`;
    where it stands is in `info["hierarchy_state"]`. If the environment ends by itself before the hierarchy has decided,
    the episode ends without reward. What the environment pays is in `info["environment_reward"]`.
    """

    checks_what_it_wraps = True

    def __init__(
        self,
        env: AnyEnv,
        hierarchy: Hierarchy,
        *,
        append_state: bool = False,
        reward: AnyReward = RewardSource.HIERARCHY,
        shaping: Shaping | float | None = None,
        counterfactuals: bool = False,
    ) -> None:
        """Puts a hierarchy beside an environment.

        Args:
            env: A labelled environment, such as one in a `LabelingWrapper`.
            hierarchy: The hierarchy of the task.
            append_state: Whether the observation includes the hierarchy state, which makes the task Markov
                for any agent: a one-hot vector over the states of the smallest flat machine.
            reward: `"hierarchy"`, `"environment"`, or a function of both, such as `lambda task, own: task + 0.1 * own`.
                Episodes end when the hierarchy has decided, whatever is rewarded.
            shaping: Adds reward for progress in the hierarchy, which changes no optimal policy: a `Shaping`, or only
                the discount of the agent that is to learn. Agents of this package need none, and must get none.
            counterfactuals: Whether `info["counterfactuals"]` holds the step as seen from every undecided
                state of the flat machine, for replay memories that learn from it. It needs `append_state`.

        Raises:
            RewardMachineError: The environment is not labelled, or what is asked for does not fit together.
        """
        super().__init__(env)
        known = _propositions(env, hierarchy)
        self.hierarchy = hierarchy
        self._checked = checked(env, known)
        self._reward = reward_function(reward)
        self._shaping = Shaping(shaping) if isinstance(shaping, (int, float)) else shaping
        self._potential = None
        if self._shaping is not None:
            self._potential = Potential(hierarchy, weight=self._shaping.weight, labels=self._shaping.labels)
        self._encoder = StateEncoder(hierarchy, env.observation_space) if append_state else None
        if self._encoder is not None:
            self.observation_space = self._encoder.space
        self._others = self._counterfactual_machine() if counterfactuals else None
        self._state, self._phi = initial_state(hierarchy), 0.0
        self._label: Label | None = None

    def _counterfactual_machine(self) -> CounterfactualMachine:
        if self._encoder is None:
            raise RewardMachineError("counterfactuals are of agents that see the state of the task: append_state=True")
        return CounterfactualMachine(self._encoder.flat, self._reward, self._shaping)

    @property
    def hierarchy_state(self) -> HierarchyState:
        """The hierarchy state."""
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self._checked.reset(seed=seed, options=options)
        self._state, self._label = initial_state(self.hierarchy), None
        if self._encoder is not None:
            self._encoder.reset()
        self._feed(info["label"])
        self._phi = 0.0 if self._potential is None else self._potential.of(self._state)
        return self._observed(observation), self._described(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, paid, ended, truncated, info = self._checked.step(action)
        before, own = self._label, float(paid)
        self._feed(info["label"])
        verdict = verdict_of(self.hierarchy, self._state)
        terminated = ended or verdict is not Verdict.NEITHER
        reward = self._reward(1.0 if verdict is Verdict.ACCEPT else 0.0, own) + self._shaped(terminated)
        info = {**self._described(info), "environment_reward": own}
        if self._others is not None:
            info["counterfactuals"] = self._others.of(before, info["label"], own, ended)
        return self._observed(observation), reward, terminated, truncated and not terminated, info

    def _feed(self, label: Label) -> None:
        self._state = move_on_event(self.hierarchy, self._state, self._label, label)
        if self._encoder is not None:
            self._encoder.feed(self._label, label)
        self._label = label

    def _shaped(self, terminated: bool) -> float:
        """The reward for the progress of the last step. Beyond the end of an episode there is no potential."""
        if self._potential is None or self._shaping is None:
            return 0.0
        before, self._phi = self._phi, 0.0 if terminated else self._potential.of(self._state)
        return self._shaping.discount * self._phi - before

    def _observed(self, observation: Any) -> Any:
        return observation if self._encoder is None else self._encoder.encode(observation)

    def _described(self, info: dict[str, Any]) -> dict[str, Any]:
        verdict = verdict_of(self.hierarchy, self._state)
        return {**info, "hierarchy_state": str(self._state), "verdict": verdict.value}


def _propositions_of(env: AnyEnv) -> tuple[str, ...]:
    """The propositions of a labelled environment."""
    if not env.has_wrapper_attr("propositions"):
        raise RewardMachineError(
            "the environment is not labelled: wrap it in LabelingWrapper(env, labels=..., propositions=[...]) first"
        )
    return tuple(env.get_wrapper_attr("propositions"))


def _propositions(env: AnyEnv, hierarchy: Hierarchy) -> tuple[str, ...]:
    """The propositions that the environment knows, which must be all that the hierarchy mentions."""
    known = _propositions_of(env)
    if missing := [p for p in hierarchy.used_propositions if p not in known]:
        hint = suggestion(missing[0], known)
        raise UnknownPropositionError(
            f"the hierarchy mentions '{missing[0]}', but the environment only knows {', '.join(known)}{hint}"
        )
    return known


MOST_CHOICES: Final = 256
"""The largest number of actions of a grid: the most that our agents can choose among."""


class DiscreteActions(gymnasium.ActionWrapper[Any, Any, Any]):
    """Replaces actions of a box by a grid of them: evenly spaced levels in every dimension, bounds included.

    Action `i` of the wrapped environment is `actions[i]`, a vector. With one level, a dimension stays in its middle.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], levels: int | Sequence[int] = 3) -> None:
        """Wraps an environment.

        Args:
            env: An environment whose actions are vectors within finite bounds.
            levels: The number of values in every dimension, or in each of them.

        Raises:
            RewardMachineError: Actions are no vectors within finite bounds, or the levels make no grid of 2 to 256.
        """
        super().__init__(env)
        box = _bounded_box(env.action_space)
        self.actions = _grid(box, _levels_of(box, levels))
        self.action_space = spaces.Discrete(len(self.actions))

    def action(self, action: int) -> NDArray[Any]:
        """The vector for which an action stands."""
        vector: NDArray[Any] = self.actions[action]
        return vector


def _bounded_box(space: spaces.Space[Any]) -> spaces.Box:
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        raise RewardMachineError(f"only vectors of continuous actions become discrete ones, not {space}")
    if not np.issubdtype(space.dtype, np.floating):
        raise RewardMachineError(f"actions are whole numbers already: {space}")
    if not space.is_bounded("both"):
        raise RewardMachineError(
            f"actions without bounds have no levels: {space}; give them some with gymnasium.wrappers.RescaleAction"
        )
    return space


def _levels_of(box: spaces.Box, levels: int | Sequence[int]) -> tuple[int, ...]:
    asked = (levels,) * box.shape[0] if isinstance(levels, int) else tuple(levels)
    if len(asked) != box.shape[0]:
        raise RewardMachineError(f"{len(asked)} numbers of levels for actions of {box.shape[0]} dimensions")
    if any(count < 1 for count in asked):
        raise RewardMachineError(f"every dimension has at least one level, not {min(asked)}")
    size = int(np.prod(np.asarray(asked, dtype=object)))
    if not 2 <= size <= MOST_CHOICES:
        raise RewardMachineError(f"{asked} levels make {size:,} actions: there must be 2 to {MOST_CHOICES}")
    return asked


def _grid(box: spaces.Box, levels: Sequence[int]) -> NDArray[Any]:
    bounds = zip(box.low.tolist(), box.high.tolist(), levels, strict=True)
    values = [
        np.linspace(low, high, count) if count > 1 else np.array([(low + high) / 2]) for low, high, count in bounds
    ]
    grid = np.array(list(product(*values)), dtype=box.dtype)
    grid.flags.writeable = False  # an environment that changed its action would change it for all steps to come
    return grid
