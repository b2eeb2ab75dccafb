"""Checks of observations against their space. Each kind of space has a check of its own.

A check gets an observation at every step, and returns its fault. The usual case (an array of the right type
and shape) takes a fraction of a microsecond; everything else is looked at closely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot
from typing import Any, Final, Protocol

import numpy as np
from gymnasium import spaces

from rewardmachines.envs.gymnasium.checks.faults import short

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
