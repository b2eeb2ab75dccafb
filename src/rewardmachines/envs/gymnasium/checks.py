"""Checks of the values that third-party environments return: labels, results of `reset` and `step`, observations.

A check of observations gets one at every step, and returns its fault. The usual case (an array of the right type and
shape) takes a fraction of a microsecond; everything else is looked at closely.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from math import hypot, isfinite
from typing import Any, Final, Protocol

import numpy as np
from gymnasium import spaces

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import suggestion

SHOWN: Final = 80
"""The largest number of characters of an observation, or of another value, in a message."""
TOLD: Final = 300
"""The largest number of characters of another error's message."""


class EnvironmentFault(RewardMachineError):
    """An environment that returned what no environment may return, or that raised an error."""


class LabelingError(EnvironmentFault):
    """A labelling function that did not do its job."""


class OutOfBoundsWarning(UserWarning):
    """Observations leave the bounds of their space, which is no error: networks take any finite number."""


def short(value: Any) -> str:
    """A value in one line of limited length."""
    return _line(repr(value), SHOWN)


def summary_of(problem: BaseException) -> str:
    """The one-line summary of an error: its type and its message."""
    message = _line(str(problem), TOLD)
    return f"{type(problem).__name__}: {message}" if message else type(problem).__name__


def name_of(env: Any) -> str:
    """The name of an environment in messages: its Gymnasium id, or else its class."""
    spec = getattr(env, "spec", None)
    return str(spec.id) if spec is not None else type(getattr(env, "unwrapped", env)).__name__


def _line(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


_USUAL: Final = frozenset((set, frozenset))


def read_label(returned: Any, propositions: frozenset[str]) -> Label:
    """The label that was meant.

    Args:
        returned: A set, list or tuple of propositions, or a dict that says of propositions whether they are true.
        propositions: The known propositions.

    Raises:
        LabelingError: It is something else, or a proposition is unknown. The message begins with what was returned, so
            that "the labelling function returned " can stand before it.
    """
    if type(returned) in _USUAL and propositions.issuperset(returned):
        return frozenset(returned)
    if isinstance(returned, (Set, list, tuple)):
        try:
            label = frozenset(returned)
        except TypeError:  # something in it cannot be hashed, so it is no string either
            label = None
        if label is None or not label <= propositions:
            raise LabelingError(_wrong_member(returned, propositions))
        return label
    if isinstance(returned, Mapping):
        return _true_ones(returned, propositions)
    raise LabelingError(_wrong_type(returned))


def read_labels(given: Iterable[Any], propositions: Iterable[str]) -> tuple[Label, ...]:
    """The labels of an environment's own list of possible labels.

    Raises:
        LabelingError: One of them is none.
    """
    known = frozenset(propositions)
    try:
        return tuple(read_label(one, known) for one in given)
    except LabelingError as problem:
        raise LabelingError(f"one of `labels` is {problem}") from None


def read_propositions(given: Iterable[str]) -> tuple[str, ...]:
    """The propositions of an environment.

    Raises:
        LabelingError: They are one text, not strings, or one is there twice.
    """
    if isinstance(given, str):
        raise LabelingError(f"propositions is the text {given!r}: give a list, such as [{given!r}]")
    propositions: tuple[Any, ...] = tuple(given)
    if wrong := [one for one in propositions if not isinstance(one, str)]:
        raise LabelingError(f"propositions are strings, but {short(wrong[0])} is of type {type(wrong[0]).__name__}")
    if twice := [one for i, one in enumerate(propositions) if one in propositions[:i]]:
        raise LabelingError(f"the proposition {twice[0]!r} is there twice")
    return propositions


def _true_ones(returned: Mapping[Any, Any], propositions: frozenset[str]) -> Label:
    if not propositions.issuperset(returned):
        raise LabelingError(_wrong_member(returned, propositions))
    for name, value in returned.items():
        if not isinstance(value, (bool, np.bool_)):
            raise LabelingError(f"a dict in which {name!r} is {short(value)}: give True or False for each proposition")
    return frozenset(name for name, value in returned.items() if value)


def _wrong_member(returned: Iterable[Any], propositions: Iterable[str]) -> str:
    """The fault of a collection with a member that is no proposition."""
    wrong = next(one for one in returned if not isinstance(one, str) or one not in propositions)
    if not isinstance(wrong, str):
        return f"{short(returned)}, in which {short(wrong)} is no string but of type {type(wrong).__name__}"
    known = sorted(propositions)
    return f"{wrong!r}, which is not among the propositions ({', '.join(known)}){suggestion(wrong, known)}"


def _wrong_type(returned: Any) -> str:
    if returned is None:
        return "None: return a set of propositions, set() where none is true"
    if isinstance(returned, str):
        return f"the text {returned!r}: return a set, such as {{{returned!r}}}"
    if isinstance(returned, np.ndarray):
        return (
            f"a NumPy array, {short(returned)}, which could mean anything: return the set of propositions that are "
            "true, or a dict of booleans"
        )
    return f"{short(returned)}, of type {type(returned).__name__}: return a set of propositions"


RESET: Final = "(observation, info)"
STEP: Final = "(observation, reward, terminated, truncated, info)"
_PLAIN_NUMBERS: Final = frozenset((float, int, np.float64, np.float32))


def reset_fault(returned: Any) -> str | None:
    """The fault of the result of `reset`, the observation aside; None for a correct one."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 2 or not isinstance(returned[1], Mapping):
        return f"reset returned {_form(returned)}, but it must return {RESET}, info being a dict"
    return None


def step_fault(returned: Any) -> str | None:
    """The fault of the result of `step`, the observation aside; None for a correct one."""
    if type(returned) is tuple and len(returned) == 5:
        _, reward, terminated, truncated, info = returned
        is_usual = terminated is False and truncated is False and type(info) is dict  # as in all steps but the last
        if is_usual and (type(reward) is float or type(reward) in _PLAIN_NUMBERS) and isfinite(reward):
            return None
    return _unusual_step_fault(returned)


def _unusual_step_fault(returned: Any) -> str | None:
    if not isinstance(returned, (tuple, list)) or len(returned) != 5:
        return f"step returned {_form(returned)}, but it must return {STEP}"
    _, reward, terminated, truncated, info = returned
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if not is_flag(flag):
            return f"step returned {short(flag)} as {name}, which is neither True nor False"
    if not isinstance(info, Mapping):
        return f"step returned {short(info)} as info, which is no dict"
    return _reward_fault(reward)


def is_flag(value: Any) -> bool:
    """Whether a value is a boolean: of Python, of NumPy, or in an array without axes."""
    return isinstance(value, (bool, np.bool_)) or (
        getattr(value, "shape", None) == () and getattr(value, "dtype", None) == np.bool_
    )


def _reward_fault(reward: Any) -> str | None:
    try:
        array = np.asarray(reward)
    except (TypeError, ValueError):
        return f"the reward is {short(reward)}, which is no number"
    if array.shape != () or array.dtype.kind not in "fiub":
        return f"the reward is {short(reward)}, which is no number"
    return None if np.isfinite(array) else f"the reward is {array}, which is not finite"


def _form(returned: Any) -> str:
    if returned is None:
        return "None"
    if isinstance(returned, (tuple, list)):
        types = ", ".join(type(part).__name__ for part in returned)
        return f"{len(returned)} values ({types})"
    return f"one value of type {type(returned).__name__}"


Numbers = np.ndarray[Any, np.dtype[Any]]

HUGE: Final = 1e38
"""A vector of a length, or square of it, below this has only numbers in it that are finite, also as float32."""
SHORT: Final = 16
"""The length of the longest vector that counts as short."""

_FLOAT32: Final = np.dtype(np.float32)
_FLOAT64: Final = np.dtype(np.float64)


class ObservationCheck(Protocol):
    """Looks at observations of one space."""

    def fault(self, observation: Any) -> str | None:
        """The fault of an observation, as the end of a sentence; None for a correct one."""

    def beyond(self, observation: Any) -> str | None:
        """The number by which a correct observation leaves the bounds of its space, where this is allowed."""


def observation_check(space: spaces.Space[Any]) -> ObservationCheck:
    """The check for the observations of a space."""
    if isinstance(space, spaces.Box):
        if space.dtype not in (np.float32, np.float64):
            return ArrayCheck(space)
        is_short = len(space.shape) == 1 and space.shape[0] <= SHORT
        return ShortVectorCheck(space, space.shape[0]) if is_short else FloatCheck(space)
    if isinstance(space, spaces.Discrete):
        return NumberCheck(int(space.start), int(space.start) + int(space.n))
    if isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)):
        return ArrayCheck(space)
    if isinstance(space, spaces.Dict):
        return PartsCheck({key: observation_check(part) for key, part in space.items()}, Mapping)
    if isinstance(space, spaces.Tuple):
        return PartsCheck(dict(enumerate(map(observation_check, space.spaces))), (tuple, list))
    return AnythingCheck()


@dataclass(frozen=True, slots=True)
class FloatCheck:
    """For boxes of float32 and float64. Either is taken for the other."""

    space: spaces.Box

    def fault(self, observation: Any) -> str | None:
        if (
            type(observation) is np.ndarray
            and ((dtype := observation.dtype) is _FLOAT32 or dtype is _FLOAT64)
            and observation.shape == self.space.shape
            # The length of a vector is the quickest way to see that all is finite: whatever is not makes it so, too.
            and np.vdot(observation, observation) < HUGE
        ):
            return None
        return array_fault(self.space, observation)

    def beyond(self, observation: Any) -> str | None:
        return bounds_fault(np.asarray(observation), self.space.low, self.space.high)


@dataclass(frozen=True, slots=True)
class ShortVectorCheck(FloatCheck):
    """For vectors so short that Python's own numbers are quicker."""

    length: int

    def fault(self, observation: Any) -> str | None:
        try:
            numbers = observation.tolist()
            is_usual = len(numbers) == self.length and hypot(*numbers) < HUGE
        except (AttributeError, TypeError, OverflowError):  # no array, or none with one axis of numbers
            is_usual = False
        return None if is_usual else array_fault(self.space, observation)


@dataclass(frozen=True, slots=True)
class ArrayCheck:
    """For arrays of whole numbers, which must keep to their bounds, and for boxes of unusual types."""

    space: spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary

    def fault(self, observation: Any) -> str | None:
        return array_fault(self.space, observation)

    def beyond(self, observation: Any) -> str | None:  # noqa: ARG002
        return None


@dataclass(frozen=True, slots=True)
class NumberCheck:
    """For a whole number of a discrete space."""

    start: int
    stop: int

    def fault(self, observation: Any) -> str | None:
        if type(observation) not in (int, np.int64):
            array = _as_array(observation)
            if array is None or array.dtype.kind not in "iu" or array.shape != ():
                return f"{_what(observation, array)}, but the space has the whole numbers {self._range}"
        if not self.start <= observation < self.stop:
            return f"{short(observation)} is out of the space, which has the whole numbers {self._range}"
        return None

    @property
    def _range(self) -> str:
        return f"{self.start} to {self.stop - 1}"

    def beyond(self, observation: Any) -> str | None:  # noqa: ARG002
        return None


@dataclass(frozen=True, slots=True)
class PartsCheck:
    """For observations of several parts, by key or by index."""

    parts: Mapping[Any, ObservationCheck]
    container: Any
    """The type, or the types, that hold the parts."""

    def fault(self, observation: Any) -> str | None:
        if not isinstance(observation, self.container):
            return f"it is of type {type(observation).__name__}, but the space has the parts {self._keys}"
        if len(observation) < len(self.parts):
            return f"it has {len(observation)} parts, but the space has {self._keys}"
        for key, check in self.parts.items():
            if self.container is Mapping and key not in observation:
                return f"it has no part {key!r}"
            if fault := check.fault(observation[key]):
                return f"in its part {key!r}, {fault}"
        return None

    @property
    def _keys(self) -> str:
        return ", ".join(map(repr, self.parts))

    def beyond(self, observation: Any) -> str | None:
        found = ((key, check.beyond(observation[key])) for key, check in self.parts.items())
        return next((f"in its part {key!r}, {what}" for key, what in found if what), None)


@dataclass(frozen=True, slots=True)
class AnythingCheck:
    """The check for spaces of unknown structure: texts, and third-party spaces."""

    def fault(self, observation: Any) -> str | None:
        return "it is None" if observation is None else None

    def beyond(self, observation: Any) -> str | None:  # noqa: ARG002
        return None


def array_fault(space: spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary, observation: Any) -> str | None:
    """The fault of an observation that should have, or convert to, the type and shape of a space."""
    array = _as_array(observation)
    assert space.dtype is not None
    is_whole = space.dtype.kind in "iub"
    if array is None or array.dtype.kind not in ("iub" if is_whole else "iubf"):
        return f"{_what(observation, array)}, but the space has arrays of {space.dtype}"
    if array.shape != space.shape:
        return f"its shape is {array.shape}, but that of the space is {space.shape}"
    if is_whole:
        low, high = _bounds(space)
        return bounds_fault(array, low, high)
    return _not_finite(array)


def bounds_fault(array: Numbers, low: Any, high: Any) -> str | None:
    """The number that is out of bounds."""
    outside = (array < low) | (array > high)
    if not outside.any():
        return None
    where = np.unravel_index(int(np.argmax(outside)), array.shape)
    least, greatest = (np.broadcast_to(bound, array.shape)[where] for bound in (low, high))
    return f"{_element(where)} is {array[where]}, but the space has numbers from {least} to {greatest} there"


def _not_finite(array: Numbers) -> str | None:
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(array.astype(np.float32))
    if is_finite.all():
        return None
    where = np.unravel_index(int(np.argmin(is_finite)), array.shape)
    kind = "too large for float32" if np.isfinite(array[where]) else "not finite"
    return f"{_element(where)} is {array[where]}, which is {kind}"


def _bounds(space: Any) -> tuple[Any, Any]:
    if isinstance(space, spaces.Box):
        return space.low, space.high
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    return 0, 1


def _as_array(observation: Any) -> Numbers | None:
    try:
        return np.asarray(observation)
    except (TypeError, ValueError):  # rows of different lengths, or an object that refuses
        return None


def _what(observation: Any, array: Numbers | None) -> str:
    if observation is None:
        return "it is None"
    if array is None or not isinstance(observation, (np.ndarray, np.generic)):
        return f"it is of type {type(observation).__name__}"
    return f"it is an array of {array.dtype}" + (f" of shape {array.shape}" if array.shape else "")


def _element(where: tuple[Any, ...]) -> str:
    if not where:
        return "the number"
    return f"number {int(where[0])}" if len(where) == 1 else f"number {tuple(int(i) for i in where)}"
