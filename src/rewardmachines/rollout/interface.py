"""The interface of policies in Gymnasium environments: propositions, actions, and the encoding of observations.

Its record is saved with every policy, which can then act without the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Protocol, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv
from rewardmachines.envs.gymnasium.checks import LabelingError, read_label
from rewardmachines.files.named_function import named_function
from rewardmachines.files.records import hidden
from rewardmachines.lowered import LabelBits
from rewardmachines.rollout.observations import CHANNELS_FIRST, Encode, Memory, ObservationCodec, codec_for

AnyEnv: TypeAlias = gymnasium.Env[Any, Any]
MOST_ACTIONS: Final = 256
"""Actions are stored as bytes."""
MAKE_DISCRETE: Final = "wrap it below the labels: rewardmachines.envs.DiscreteActions(env, levels=5)"
WRAP_IT: Final = "wrap it: LabelingWrapper(env, labels=..., propositions=[...], goal=...)"


@dataclass(frozen=True)
class LabelCodes:
    """Labels as bits. Each label is checked and encoded only once."""

    bits: LabelBits
    expected: frozenset[Label] | None = None
    """All labels that can be observed; if not given, any label."""
    _known: dict[Label, Memory] = field(default_factory=dict, compare=False)

    @cached_property
    def propositions(self) -> frozenset[str]:
        """The propositions that can be in a label."""
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


@dataclass(frozen=True)
class Interface:
    """The common interface of the environments of all tasks of a run."""

    propositions: tuple[str, ...]
    """The propositions that labels are made of."""
    observations: ObservationCodec
    """The encoding of observations."""
    actions: int
    """The number of actions."""
    first_action: int
    """The least action of the environments; agents count theirs from 0."""
    limit: int | None = hidden(None)
    """Steps after which the environments truncate episodes: the largest limit, if they have one."""

    def codes(self, labels: Iterable[Label] | None = None) -> LabelCodes:
        """The encoding of labels; `labels` are all that can be observed, if known."""
        return LabelCodes(LabelBits(self.propositions), None if labels is None else frozenset(labels))

    def encode(self, where: str) -> Encode | None:
        """The encoding of observations, if there is one; the module of a function is imported.

        Args:
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: It has no name, or cannot be found by it.
        """
        if self.observations.recall.moves_channels:
            return CHANNELS_FIRST
        name = self.observations.encoder
        if self.observations.is_encoded and name is None:
            raise RewardMachineError(
                f"{where}: encode was given as a function that cannot be found again by a name: give it again"
            )
        return None if name is None else named_function(name, "encode")

    def with_encode(self, encode: Encode | None) -> Interface:
        """The interface with the function that encodes observations, which a record only names.

        Raises:
            ObservationError: Such a function is missing, or not needed.
        """
        return replace(self, observations=self.observations.with_encode(encode))

    @property
    def without_names(self) -> Interface:
        """The interface without the name of the function that encodes observations, which may change."""
        return replace(self, observations=replace(self.observations, encoder=None))


class NamedTask(Protocol):
    """A task by its name."""

    @property
    def name(self) -> str:
        """The name of the task."""


def interface_of(tasks: Sequence[NamedTask], checked: Sequence[CheckedEnv], encode: Encode | None) -> Interface:
    """The common interface of one environment of each task; the first is reset for an observation.

    Args:
        tasks: The tasks.
        checked: An environment of each task.
        encode: A function that encodes observations as arrays; or `"channels-first"`, for pictures.

    Raises:
        RewardMachineError: An environment is not labelled, differs from the first, or cannot be acted in.
    """
    envs = [one.env for one in checked]
    for task, env in zip(tasks, envs, strict=True):
        if not env.has_wrapper_attr("propositions"):
            raise RewardMachineError(f"the environment of '{task.name}' is not labelled: {WRAP_IT}")
        _check_same(tasks[0].name, envs[0], task.name, env)
    first = envs[0]
    limits = [limit for limit in map(episode_limit, envs) if limit is not None]
    actions = discrete_actions(first.action_space)
    return Interface(
        propositions=tuple(first.get_wrapper_attr("propositions")),
        observations=codec_for(first.observation_space, encode, checked[0].reset(seed=0)[0]),
        actions=int(actions.n),
        first_action=int(actions.start),
        limit=max(limits, default=None),
    )


def _check_same(one: str, first: AnyEnv, other: str, env: AnyEnv) -> None:
    """Checks that two environments have the same observations, labels and actions, because tasks share policies."""
    for what, mine, others in (
        ("observations", first.observation_space, env.observation_space),
        ("actions", first.action_space, env.action_space),
        ("propositions", *(tuple(e.get_wrapper_attr("propositions")) for e in (first, env))),
    ):
        if mine != others:
            raise RewardMachineError(
                f"all tasks must have the same {what}: those of '{one}' are {mine}, those of '{other}' {others}"
            )


def discrete_actions(space: spaces.Space[Any]) -> spaces.Discrete:
    """The actions of an environment, which agents choose among.

    Args:
        space: The action space of an environment.

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


def episode_limit(env: Any) -> int | None:
    """The number of steps after which an environment truncates its episodes, if known.

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
