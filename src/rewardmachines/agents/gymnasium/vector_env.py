"""What Gymnasium's vector environments report, as arrays: observations, labels, and where episodes end and begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate

from rewardmachines.agents.gymnasium.driver import StepResult
from rewardmachines.agents.gymnasium.observations import Memory, Reading
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.envs.gymnasium.checks.faults import LabelingError
from rewardmachines.envs.gymnasium.checks.labels import read_label
from rewardmachines.envs.gymnasium.checks.vector import AnyVectorEnv, CheckedVectorEnv
from rewardmachines.lowered import LabelBits

MOST_ACTIONS: Final = 256
"""Actions are remembered as bytes."""

MAKE_DISCRETE: Final = "wrap it below the labels: rewardmachines.envs.DiscreteActions(env, levels=5)"
WRAP_IT: Final = "wrap it: HierarchyWrapper(LabelingWrapper(env, labels=..., propositions=[...]), hierarchy)"


@dataclass(frozen=True)
class LabelCodes:
    """Labels as bits. Each label is checked and encoded only once."""

    bits: LabelBits
    expected: frozenset[Label] | None = None
    """All labels that may be seen; any, if not given."""
    _known: dict[Label, Memory] = field(default_factory=dict, compare=False)

    @cached_property
    def propositions(self) -> frozenset[str]:
        """Those that can be in a label."""
        return frozenset(self.bits.propositions)

    def one(self, given: Iterable[str] | Mapping[str, bool]) -> Memory:
        """The bits of a label.

        Args:
            given: A set, list or tuple of the propositions that are true, or a dict of booleans.

        Raises:
            LabelingError: It is something else, or has unknown propositions.
            RewardMachineError: The label is not among those that were expected.
        """
        label = given if type(given) is frozenset and given in self._known else self._read(given)
        if label not in self._known:
            if self.expected is not None and label not in self.expected:
                shown = ", ".join(sorted(label))
                raise RewardMachineError(f"the label {{{shown}}} was seen, but it is not among `labels`")
            self._known[label] = self.bits.encode(label)
        return self._known[label]

    def _read(self, given: Any) -> Label:
        try:
            return read_label(given, self.propositions)
        except LabelingError as problem:
            raise LabelingError(f"the label is {problem}") from None

    def many(self, labels: Sequence[Iterable[str]]) -> Memory:
        """The bits of several labels, one row each."""
        return np.stack([self.one(label) for label in labels])


class Moment(NamedTuple):
    """The present moments of all environments."""

    memory: Memory
    """What is remembered of the observations."""
    label: Memory
    """The labels as bits."""


@dataclass
class Sensors:
    """Steps environments and reports what each step brought.

    Nothing is kept here but which environments are over and still to be reset, as Gymnasium's mode NEXT_STEP does it.
    """

    envs: AnyVectorEnv
    reading: Reading
    codes: LabelCodes
    pays: bool = False
    """Whether what the environments pay themselves is reported, too."""

    def __post_init__(self) -> None:
        self._checked = CheckedVectorEnv(self.envs)
        self._mode = autoreset_mode(self.envs)
        self._first_action = int(discrete_actions(self.envs.single_action_space).start)
        self.is_waiting = np.zeros(self.envs.num_envs, bool)

    def moment(self, observations: Any, info: dict[str, Any]) -> Moment:
        """The present moments, of what Gymnasium returned for all environments together."""
        memory = self.reading.many(self.envs.observation_space, observations)
        labels = self._checked.labels(info, observations, self.codes.propositions)
        return Moment(memory, self.codes.many(labels))

    def step(self, actions: Memory) -> tuple[StepResult, Memory]:
        """Takes a step of every environment.

        Args:
            actions: The agent's actions, counted from 0.

        Returns:
            What the step brought, and the rewards, which are 0 where an environment was only reset.
        """
        observations, rewards, terminated, truncated, info = self._checked.step(actions + self._first_action)
        is_over = terminated | truncated
        following = self.moment(observations, info)
        # With NEXT_STEP, the step after the last of an episode only resets; with SAME_STEP, nobody ever waits.
        is_reset = self.is_waiting
        last, is_fresh = following, is_reset
        if self._mode is AutoresetMode.SAME_STEP:
            last, is_fresh = self._last(following, is_over, info), is_over
        else:
            self.is_waiting = is_over
        result = StepResult(
            action=actions,
            after=last.memory,
            label=last.label,
            is_terminated=terminated,
            is_over=is_over,
            is_valid=~is_reset,
            next_now=following.memory,
            next_label=following.label,
            is_fresh=is_fresh,
            reward=self._paid(is_over, is_fresh, info) if self.pays else None,
        )
        return result, np.where(is_reset, 0, rewards)

    def _paid(self, is_over: Memory, is_fresh: Memory, info: dict[str, Any]) -> Memory:
        """What the environments paid. Where the next episode has begun within the step, it is among the last `info`."""
        try:
            paid = np.zeros(len(is_over)) if is_fresh.all() else info["environment_reward"]
            if self._mode is AutoresetMode.SAME_STEP and is_over.any():
                paid = np.where(is_over, info["final_info"]["environment_reward"], paid)
        except KeyError:
            raise RewardMachineError(f"there is no environment_reward in info; {WRAP_IT}") from None
        return np.asarray(paid, np.float32)

    def _last(self, following: Moment, is_over: Memory, info: dict[str, Any]) -> Moment:
        """The last moments of episodes that ended, which Gymnasium puts into `info`; elsewhere, the present ones."""
        last = Moment(following.memory.copy(), following.label.copy())
        for i in np.flatnonzero(is_over).tolist():
            observation, label = self._checked.final(i, info, self.codes.propositions)
            last.memory[i], last.label[i] = self.reading.one(observation), self.codes.one(label)
        return last


def autoreset_mode(envs: AnyVectorEnv) -> AutoresetMode:
    """How environments that are over are reset.

    Raises:
        RewardMachineError: They are not reset by themselves.
    """
    mode = envs.metadata.get("autoreset_mode")
    if mode not in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        raise RewardMachineError(
            "environments that end must be reset by themselves: "
            "give the vector environment autoreset_mode=AutoresetMode.SAME_STEP or NEXT_STEP"
        )
    return AutoresetMode(mode)


def discrete_actions(space: spaces.Space[Any]) -> spaces.Discrete:
    """The actions of an environment, which agents choose among.

    Args:
        space: The action space of one environment.

    Raises:
        RewardMachineError: The actions are not discrete, or too many.
    """
    if isinstance(space, spaces.Box):
        raise RewardMachineError(f"actions must be discrete, not {space}; {MAKE_DISCRETE}")
    if not isinstance(space, spaces.Discrete):
        raise RewardMachineError(f"actions must be discrete, not {space}")
    if space.n > MOST_ACTIONS:
        raise RewardMachineError(f"{space.n} actions are too many: at most {MOST_ACTIONS}")
    return space


def propositions_of(envs: AnyVectorEnv) -> tuple[str, ...]:
    """The propositions that the environments can observe, going by the first of them.

    Raises:
        RewardMachineError: The environments are not labelled.
    """
    try:
        found = getattr(envs, "propositions", None) or envs.get_attr("propositions")[0]  # type: ignore[attr-defined]
    except AttributeError:
        raise RewardMachineError(f"the environment is not labelled; {WRAP_IT}") from None
    return tuple(found)


def first_observation(envs: AnyVectorEnv, observations: Any) -> Any:
    """The observation of the first environment, of those of all environments together."""
    return next(iter(iterate(envs.observation_space, observations)))


def episode_limit(env: Any) -> int | None:
    """The number of steps after which an environment cuts its episodes off, if it says so.

    Args:
        env: An environment, in wrappers or not: `TimeLimit` says so, and MiniGrid's environments do.
    """
    inner = env
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, gymnasium.wrappers.TimeLimit):
            return int(inner._max_episode_steps)
        inner = inner.env
    limit = getattr(inner, "max_steps", None)
    return limit if type(limit) is int and limit > 0 else None


def limit_of_first(envs: AnyVectorEnv) -> int | None:
    """The limit of episodes of the first of several environments, if it can be looked at and says so."""
    side_by_side = getattr(envs, "envs", None)
    return episode_limit(side_by_side[0]) if side_by_side else None
