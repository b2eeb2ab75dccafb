"""Spaces of several parts: their elements as vectors of numbers, and discrete ones as one choice among combinations.

A record of the space is saved with policies, which take observations and return actions as the environment has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from gymnasium import spaces

from rewardmachines.envs.gymnasium.checks import short

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

PICTURE_SIDE: Final = 16
"""The least side of a table of bytes that counts as a picture without colours."""


class SpaceKind(Enum):
    """The kind of a space: `CHOICES` is one number or an array of numbers that each count something."""

    NUMBERS = "numbers"
    CHOICES = "choices"
    FLAGS = "flags"
    DICT = "dict"
    TUPLE = "tuple"


class UnfitSpaceError(Exception):
    """A space, or a part of one, whose elements are no fixed number of numbers and choices."""

    def __init__(self, space: Any, path: tuple[Any, ...] = ()) -> None:
        inner = "".join(f"[{key!r}]" for key in path)
        super().__init__(f", whose {inner} is {short(space)}" if path else "")
        self.space, self.path = space, path


@dataclass(frozen=True)
class SpaceRecord:
    """A space of numbers and choices, by itself or in dicts and tuples."""

    kind: SpaceKind
    shape: tuple[int, ...] = ()
    """The shape of its arrays."""
    dtype: str = ""
    """The name of the type of its arrays."""
    counts: tuple[int, ...] = ()
    """The number of values of each choice, in the order of the flat array; 2 for each flag."""
    starts: tuple[int, ...] = ()
    """The least value of each choice."""
    keys: tuple[str, ...] = ()
    """The names of the parts of a dict."""
    parts: tuple[SpaceRecord, ...] = ()

    @property
    def name(self) -> str:
        """The kind of the space, for people."""
        if self.kind is SpaceKind.DICT:
            return f"a dict of {', '.join(self.keys)}"
        if self.kind is SpaceKind.TUPLE:
            return f"a tuple of {len(self.parts)} parts"
        size = " × ".join(map(str, self.shape))
        if self.kind is SpaceKind.NUMBERS:
            return f"{size} numbers" if self.shape else "one number"
        return f"{size} {'flags' if self.kind is SpaceKind.FLAGS else 'choices'}" if self.shape else "one choice"

    # -- vectors

    @cached_property
    def size(self) -> int:
        """The length of an element as a vector, in which every choice is one-hot, as Gymnasium flattens spaces."""
        if self.kind in (SpaceKind.DICT, SpaceKind.TUPLE):
            return sum(part.size for part in self.parts)
        return sum(self.counts) if self.kind is SpaceKind.CHOICES else prod(self.shape)

    @property
    def is_discrete(self) -> bool:
        """Whether there are only choices and flags."""
        if self.kind in (SpaceKind.DICT, SpaceKind.TUPLE):
            return all(part.is_discrete for part in self.parts)
        return self.kind is not SpaceKind.NUMBERS

    @cached_property
    def are_bytes(self) -> bool:
        """Whether all numbers of the vector are bytes."""
        if self.kind in (SpaceKind.DICT, SpaceKind.TUPLE):
            return all(part.are_bytes for part in self.parts)
        return self.kind is not SpaceKind.NUMBERS or self.dtype in ("uint8", "bool")

    @cached_property
    def _columns(self) -> Numbers:
        """The column of the first value of each choice."""
        starts: Numbers = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64) - self.starts
        return starts

    def vector(self, element: Any, dtype: np.dtype[Any]) -> Numbers:
        """An element of the space as a vector of numbers of a type."""
        found = np.zeros(self.size, dtype)
        self._write(element, found, 0)
        return found

    def _write(self, element: Any, vector: Numbers, at: int) -> None:
        """Writes an element into a vector of zeros, from a column on."""
        if self.kind is SpaceKind.CHOICES:
            vector[self._columns + (at + np.ravel(element))] = 1
        elif self.kind in (SpaceKind.NUMBERS, SpaceKind.FLAGS):
            vector[at : at + self.size] = np.ravel(element)
        else:
            for key, part in zip(self.keys or range(len(self.parts)), self.parts, strict=True):
                part._write(element[key], vector, at)
                at += part.size

    def space(self) -> spaces.Space[Any]:
        """The space itself, in which all finite numbers are within bounds: a record does not have any."""
        if self.kind is SpaceKind.DICT:
            return spaces.Dict({key: part.space() for key, part in zip(self.keys, self.parts, strict=True)})
        if self.kind is SpaceKind.TUPLE:
            return spaces.Tuple([part.space() for part in self.parts])
        if self.kind is SpaceKind.FLAGS:
            return spaces.MultiBinary(self.shape)
        if self.kind is SpaceKind.CHOICES and not self.shape:
            return spaces.Discrete(self.counts[0], start=self.starts[0])
        if self.kind is SpaceKind.CHOICES:
            counts, starts = (np.reshape(each, self.shape) for each in (self.counts, self.starts))
            return spaces.MultiDiscrete(counts, start=starts)
        dtype: Any = np.dtype(self.dtype)
        if dtype.kind == "b":
            return spaces.Box(0, 1, self.shape, dtype)
        if dtype.kind in "iu":
            return spaces.Box(np.iinfo(dtype).min, np.iinfo(dtype).max, self.shape, dtype)
        return spaces.Box(-np.inf, np.inf, self.shape, dtype)

    # -- choices

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each choice and flag, part by part."""
        return sum((part.sizes for part in self.parts), self.counts)

    @property
    def combinations(self) -> int:
        """The number of elements of a space of choices."""
        return prod(self.sizes)

    def combination(self, number: Any) -> Any:
        """The element of a number, of a space of choices; or those of several numbers, side by side as in vectors."""
        return self._composed(iter(np.unravel_index(number, self.sizes)), np.shape(number))

    def _composed(self, digits: Iterator[Any], batch: tuple[int, ...]) -> Any:
        if self.kind is SpaceKind.DICT:
            return {key: part._composed(digits, batch) for key, part in zip(self.keys, self.parts, strict=True)}
        if self.kind is SpaceKind.TUPLE:
            return tuple(part._composed(digits, batch) for part in self.parts)
        values = [start + next(digits) for start in self.starts]
        if self.kind is SpaceKind.CHOICES and not self.shape:
            return values[0]
        return np.stack(values, axis=-1).reshape(*batch, *self.shape).astype(self.dtype)


def record_of(space: spaces.Space[Any]) -> SpaceRecord:
    """The record of a space of numbers and choices.

    Args:
        space: The space, which has no pictures.

    Raises:
        UnfitSpaceError: Elements of the space have no fixed number of numbers, or are pictures.
    """
    if isinstance(space, spaces.Dict) and all(isinstance(key, str) for key in space.spaces):
        parts = tuple(_part(key, part) for key, part in space.spaces.items())
        return SpaceRecord(SpaceKind.DICT, keys=tuple(space.spaces), parts=parts)
    if isinstance(space, spaces.Tuple):
        return SpaceRecord(SpaceKind.TUPLE, parts=tuple(_part(i, part) for i, part in enumerate(space.spaces)))
    if isinstance(space, spaces.Discrete):
        return SpaceRecord(SpaceKind.CHOICES, (), "int64", (int(space.n),), (int(space.start),))
    if isinstance(space, spaces.MultiDiscrete):
        counts, starts = (tuple(np.ravel(each).tolist()) for each in (space.nvec, space.start))
        return SpaceRecord(SpaceKind.CHOICES, space.shape, str(space.dtype), counts, starts)
    if isinstance(space, spaces.MultiBinary):
        count = prod(space.shape)
        return SpaceRecord(SpaceKind.FLAGS, space.shape, str(space.dtype), (2,) * count, (0,) * count)
    if isinstance(space, spaces.Box) and len(space.shape) < 3:
        return SpaceRecord(SpaceKind.NUMBERS, space.shape, str(space.dtype))
    raise UnfitSpaceError(space)


def _part(key: Any, space: spaces.Space[Any]) -> SpaceRecord:
    try:
        if is_grey_picture(space):
            raise UnfitSpaceError(space)
        return record_of(space)
    except UnfitSpaceError as problem:
        raise UnfitSpaceError(problem.space, (key, *problem.path)) from None


def is_grey_picture(space: spaces.Space[Any]) -> bool:
    """Whether the elements of a space are pictures without colours: large tables of bytes."""
    return (
        isinstance(space, spaces.Box)
        and len(space.shape) == 2
        and space.dtype == np.uint8
        and min(space.shape) >= PICTURE_SIDE
    )


def bounds_of(space: spaces.Space[Any]) -> Numbers:
    """The greatest size of each number of the vectors of a space; 1 for choices and flags, infinity where unbounded."""
    if isinstance(space, spaces.Box):
        low, high = (np.ravel(bound).astype(np.float64) for bound in (space.low, space.high))
        return np.maximum(np.abs(low), np.abs(high))
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        return np.concatenate([np.zeros(0), *map(bounds_of, parts)])
    return np.ones(record_of(space).size)
