"""The interface of policies in Gymnasium environments: propositions, actions, and the encoding of observations.

Its record is saved with every policy, which can then act without the environment. Observations have a stored form, and
a form as inputs of networks; `ObservationCodec` makes both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, Protocol, TypeAlias

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import iterate
from jaxtyping import Array, Float

from rewardmachines.agents.networks import Body, NetworkConfig, features
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv
from rewardmachines.envs.gymnasium.checks import (
    LabelingError,
    ObservationCheck,
    observation_check,
    read_label,
    short,
    summary_of,
)
from rewardmachines.files.named_function import name_of, named_function
from rewardmachines.files.records import hidden
from rewardmachines.lowered import LabelBits
from rewardmachines.rollout.composed_spaces import (
    SpaceRecord,
    UnfitSpaceError,
    bounds_of,
    is_grey_picture,
    record_of,
)

EncodeFunction: TypeAlias = Callable[[Any], Any]
"""A function of one observation to an array of numbers, which always has the same shape."""
Encode: TypeAlias = EncodeFunction | Literal["channels-first"]
"""Such a function, or `"channels-first"`, which brings the channels of pictures to the front and changes nothing else.
"""
CHANNELS_FIRST: Final = "channels-first"
Memory: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""The stored form of one observation, or of several."""

SMALL: Final = 0.5
LARGE: Final = 10.0
"""Bounds of the numbers in a vector: a number with a bound below the first or above the second is divided by it. Tiny
numbers, such as the velocity in MountainCar (0.07), would hardly affect a network, and large numbers would dominate
it."""
MOST_NUMBERS: Final = 65_536
"""The length of the longest vector that an observation is made by itself."""
ENCODE_THEM: Final = "pass encode, a function of one observation to an array of numbers"
CHANNELS = (1, 3, 4)
"""Numbers of channels that pictures usually have: such a last axis is taken for that of channels."""


class ObservationError(RewardMachineError):
    """Observations that need an encoding before they can be inputs of a network."""


@dataclass(frozen=True)
class Recalling:
    """Computes the inputs of networks from stored observations.

    Numbers of a discrete space become one-hot, bytes numbers between 0 and 1, and channels come first.
    """

    choices: int | None = None
    """The number of values of a discrete space; None for other spaces."""
    greatest: float = 1.0
    """The divisor of the stored numbers."""
    moves_channels: bool = False
    """Whether pictures are stored with their channels last."""
    sizes: tuple[float, ...] | None = None
    """The divisor of each number of a vector; None if it is the same for all."""

    def __call__(self, world: Any, memory: Any) -> Float[Array, ...]:  # noqa: ARG002
        if self.choices is not None:
            return jax.nn.one_hot(memory, self.choices)
        seen = jnp.moveaxis(memory, -1, 0) if self.moves_channels else memory
        numbers = jnp.asarray(seen, jnp.float32)
        return numbers / (self.greatest if self.sizes is None else jnp.asarray(self.sizes, jnp.float32))


@dataclass(frozen=True)
class ObservationCodec:
    """How the observations of one space are stored in replay memories."""

    shape: tuple[int, ...]
    """The shape of a network's input."""
    dtype: str
    """The name of the type of stored arrays."""
    recall: Recalling
    start: int = 0
    """The least number of a discrete space."""
    is_encoded: bool = False
    """Whether observations are encoded by a function."""
    encoder: str | None = None
    """The name of this function, `module:function`, if it can be found by one."""
    flattened: SpaceRecord | None = None
    """The space of observations, if each is made a vector, or a picture without colours one with a single channel."""
    encode: EncodeFunction | None = hidden(None)  # noqa: RUF009
    """The function itself, which a record only names."""

    def with_encode(self, encode: Encode | None) -> ObservationCodec:
        """The codec with the function that encodes observations. No function is imported for it.

        Args:
            encode: The encoding of observations, if there is one; `"channels-first"` is in the record already.

        Raises:
            ObservationError: Such a function is missing, or not needed.
        """
        if encode == CHANNELS_FIRST and self.recall.moves_channels:
            encode = None
        if self.is_encoded and encode is None:
            name = "a function" if self.encoder is None else self.encoder
            raise ObservationError(f"observations were encoded by {name}: pass it again, as encode=")
        if encode is not None and not self.is_encoded:
            raise ObservationError("observations were not encoded: leave out encode=")
        if encode is not None and not callable(encode):
            raise ObservationError("observations were encoded by a function: pass it again, as encode=")
        return replace(self, encode=encode)

    @cached_property
    def stored(self) -> np.dtype[Any]:
        """The type of stored arrays.

        Raises:
            ObservationError: There is no such type.
        """
        try:
            return np.dtype(self.dtype)
        except TypeError:
            raise ObservationError(f"there are no observations of type '{self.dtype}'") from None

    @property
    def blank(self) -> Memory:
        """Zeros in the shape of a stored observation."""
        if self.recall.choices is not None:
            return np.zeros((), self.stored)
        return np.zeros((*self.shape[1:], self.shape[0]) if self.recall.moves_channels else self.shape, self.stored)

    @property
    def is_vector(self) -> bool:
        """Whether observations are vectors of numbers, and neither cells nor grids, nor choices alone."""
        is_discrete = self.flattened is not None and self.flattened.is_discrete
        return len(self.shape) == 1 and self.recall.choices is None and not is_discrete

    def one(self, observation: Any) -> Memory:
        """The stored form of an observation."""
        if self.encode is not None:
            return _encoded(self.encode, observation, self)
        if self.flattened is not None:
            return self.flattened.vector(observation, self.stored).reshape(self.shape)
        return np.asarray(observation - self.start if self.start else observation, self.stored)

    def checked(self, observation: Any) -> Memory:
        """The stored form of an observation that does not come from a checked environment.

        Raises:
            ObservationError: The observation is not in the space, or not finite.
        """
        if self.encode is None and (fault := self._check.fault(observation)):
            raise ObservationError(f"a wrong observation: {fault} (observation: {short(observation)})")
        return self.one(observation)

    @cached_property
    def _check(self) -> ObservationCheck:
        """The check for the observation space, as far as the codec knows it."""
        if self.flattened is not None:
            return observation_check(self.flattened.space())
        if self.recall.choices is not None:
            return observation_check(spaces.Discrete(self.recall.choices, start=self.start))
        shape = (*self.shape[1:], self.shape[0]) if self.recall.moves_channels else self.shape
        if self.stored == np.uint8:
            return observation_check(spaces.Box(0, 255, shape, np.uint8))
        return observation_check(spaces.Box(-np.inf, np.inf, shape, np.float32))

    def many(self, space: spaces.Space[Any], observations: Any) -> Memory:
        """The stored form of the observations of several environments.

        Args:
            space: The space of all observations together.
            observations: An element of that space.
        """
        if self.encode is not None or self.flattened is not None:
            return np.stack([self.one(observation) for observation in iterate(space, observations)])
        remembered: Memory = np.array(observations, self.stored)
        return remembered - np.asarray(self.start, self.stored) if self.start else remembered


def codec_for(space: spaces.Space[Any], encode: Encode | None, example: Any) -> ObservationCodec:
    """The codec for observations of a space.

    Args:
        space: The space of one observation.
        encode: Makes an array of an observation, which is shown as it is; or brings channels to the front. It is not
            needed for other boxes, for discrete spaces, and for those that consist of them.
        example: Any observation.

    Raises:
        ObservationError: Such observations cannot be inputs of a network.
    """
    if callable(encode):
        array = _encoded(encode, example)
        return ObservationCodec(
            array.shape, array.dtype.name, Recalling(), is_encoded=True, encoder=name_of(encode), encode=encode
        )
    if isinstance(space, spaces.Discrete) and encode is None:
        choices = int(space.n)
        return ObservationCodec((choices,), "int32", Recalling(choices), start=int(space.start))
    moves_channels = encode is not None
    if moves_channels and (encode != CHANNELS_FIRST or not isinstance(space, spaces.Box) or len(space.shape) != 3):
        raise ObservationError(f"encode is a function or, for pictures, '{CHANNELS_FIRST}': not {encode!r} for {space}")
    if not isinstance(space, spaces.Box) or len(space.shape) in (0, 2):
        return _flattening(space)
    shape = (space.shape[-1], *space.shape[:-1]) if moves_channels else space.shape
    if space.dtype == np.uint8:  # a quarter of the memory
        greatest = max(float(space.high.max()), 1.0)
        return ObservationCodec(shape, "uint8", Recalling(None, greatest, moves_channels))
    recall = Recalling(moves_channels=moves_channels, sizes=_sizes(space))
    return ObservationCodec(shape, "float32", recall)


def _flattening(space: spaces.Space[Any]) -> ObservationCodec:
    """The codec that makes a vector of each observation, and a picture with one channel of one without colours.

    Raises:
        ObservationError: The space has parts that are no numbers, or pictures.
    """
    try:
        record = record_of(space)
    except UnfitSpaceError as problem:
        raise ObservationError(f"no network takes observations of {short(space)}{problem}: {ENCODE_THEM}") from None
    if not 0 < record.size <= MOST_NUMBERS:
        raise ObservationError(
            f"no network takes observations of {short(space)}, which have {record.size:,} numbers when each choice is "
            f"one-hot (at most {MOST_NUMBERS:,}): {ENCODE_THEM}"
        )
    if is_grey_picture(space):
        greatest = max(float(bounds_of(space).max()), 1.0)
        return ObservationCodec((1, *record.shape), "uint8", Recalling(None, greatest), flattened=record)
    divisors = np.maximum(bounds_of(space), 1.0) if record.are_bytes else _divisors(bounds_of(space))
    recall = Recalling(None, float(divisors[0]))
    if (divisors != divisors[0]).any():
        recall = Recalling(sizes=tuple(divisors.tolist()))
    return ObservationCodec((record.size,), "uint8" if record.are_bytes else "float32", recall, flattened=record)


def _sizes(space: spaces.Box) -> tuple[float, ...] | None:
    """The divisors of the numbers of a vector; None if all are 1."""
    if len(space.shape) != 1:
        return None
    divisors = _divisors(bounds_of(space))
    return tuple(divisors.tolist()) if (divisors != 1).any() else None


def _divisors(bounds: Memory) -> Memory:
    """The divisors of numbers: their bound, if it is very small or very large, and 1 otherwise."""
    is_odd = np.isfinite(bounds) & (bounds > 0) & ((bounds < SMALL) | (bounds > LARGE))
    return np.where(is_odd, bounds, 1.0)


def body_for(shape: tuple[int, ...]) -> Body:
    """The kind of network body that suits observations of a shape.

    Raises:
        ObservationError: The shape does not say what the axes mean.
    """
    if len(shape) == 1:
        return Body.MLP
    if len(shape) != 3:
        raise ObservationError(f"observations of shape {shape} could mean anything: pass a network, or encode them")
    if shape[-1] in CHANNELS and shape[0] not in CHANNELS:
        raise ObservationError(
            f"observations of shape {shape} seem to have their channels last: bring them to the front "
            f"(encode='{CHANNELS_FIRST}'), or pass a network"
        )
    return Body.CNN


def check_network(network: NetworkConfig, shape: tuple[int, ...]) -> None:
    """Raises an error if observations of a shape cannot be inputs of a network.

    Raises:
        ObservationError: It has convolutions, and observations are no grids or too small.
    """
    if network.body not in (Body.CNN, Body.POOLED_CNN):
        return
    if len(shape) != 3:
        raise ObservationError(
            f"the network is a {network.body.value}, for grids with channels first, but observations have shape {shape}"
        )
    if min(shape) < 1 or features(network, shape) <= 0 or min(shape[1:]) <= len(network.filters):
        raise ObservationError(f"a grid of shape {shape} is too small for {len(network.filters)} convolutions")


def _encoded(encode: EncodeFunction, observation: Any, codec: ObservationCodec | None = None) -> Memory:
    """The stored form of an observation: bytes and truth values as bytes, other numbers as floats.

    Args:
        encode: The function that encodes observations as arrays.
        observation: The observation.
        codec: The codec of earlier observations; None for the first observation.
    """
    try:
        given = encode(observation)
        found = np.asarray(given)
    except Exception as problem:
        raise ObservationError(
            f"encode failed with {summary_of(problem)} (observation: {short(observation)})"
        ) from problem
    fault = None
    dtype = np.dtype(np.uint8 if found.dtype in (np.uint8, np.bool_) else np.float32)
    if found.dtype.kind not in "biuf":
        fault = f"{type(given).__name__}, not an array of numbers"
    elif codec is not None and found.shape != codec.shape:
        fault = f"an array of shape {found.shape}, and one of shape {codec.shape} before"
    elif codec is not None and codec.stored == np.uint8 and dtype != np.uint8:
        fault = f"an array of {found.dtype}, and one of bytes before"
    elif not np.isfinite(found).all():
        fault = "numbers that are not finite"
    if fault is not None:
        raise ObservationError(f"encode returned {fault} (observation: {short(observation)})")
    return found.astype(dtype if codec is None else codec.stored)


AnyEnv: TypeAlias = gymnasium.Env[Any, Any]
MOST_ACTIONS: Final = 256
"""Actions are stored as bytes."""
MAKE_DISCRETE: Final = "wrap it below the labels: rewardmachines.envs.DiscreteActions(env, levels=5)"
WRAP_ACTIONS: Final = (
    "wrap the environment below the labels: gymnasium.wrappers.TransformAction(env, function, spaces.Discrete(n))"
)
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
    combined: SpaceRecord | None = None
    """The actions of the environments, if they have several parts: agents choose among all combinations."""
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

    def action(self, number: Any) -> Any:
        """The action of a number, counted from 0, as the environments take it; or those of several environments."""
        return number + self.first_action if self.combined is None else self.combined.combination(number)

    @property
    def conversions(self) -> tuple[str, ...]:
        """Sentences about what observations and actions are made, for people."""
        flattened, combined, said = self.observations.flattened, self.combined, list[str]()
        if flattened is not None and len(self.observations.shape) == 1:
            said.append(
                f"observations ({flattened.name}) are flattened to {flattened.size} number{'s' * (flattened.size > 1)}"
            )
        elif flattened is not None:
            said.append(f"observations ({flattened.name}) are taken for pictures with one channel")
        if combined is not None:
            said.append(f"actions ({combined.name}) are one choice of {self.actions} combinations")
        return tuple(said)

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
    actions = action_fields(first.action_space)
    return Interface(
        propositions=tuple(first.get_wrapper_attr("propositions")),
        observations=codec_for(first.observation_space, encode, checked[0].reset(seed=0)[0]),
        **actions,
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


def action_fields(space: spaces.Space[Any]) -> dict[str, Any]:
    """The fields of an interface for the actions of an environment, which agents choose among.

    Args:
        space: The action space of an environment.

    Raises:
        RewardMachineError: The actions are not discrete, or too many.
    """
    if isinstance(space, spaces.Box):
        raise RewardMachineError(f"actions must be discrete, not {short(space)}; {MAKE_DISCRETE}")
    try:
        record, wrong = record_of(space), ""
        is_choice = record.is_discrete and bool(record.sizes)
    except UnfitSpaceError as problem:
        is_choice, wrong = False, str(problem)
    if not is_choice:
        raise RewardMachineError(f"actions must be discrete, not {short(space)}{wrong}; {WRAP_ACTIONS}")
    if record.combinations > MOST_ACTIONS:
        raise RewardMachineError(
            f"{record.combinations:,} actions are too many: at most {MOST_ACTIONS}; {WRAP_ACTIONS}"
        )
    if isinstance(space, spaces.Discrete):
        return {"actions": int(space.n), "first_action": int(space.start)}
    return {"actions": record.combinations, "first_action": 0, "combined": record}


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
