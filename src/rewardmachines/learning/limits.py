"""Limits of a search: time and memory, checked often enough that they are kept.

Every loop that may take long is given the limits of its search and checks them again and again. What cannot check
them, a solver on a hard question, runs in a process that can be killed.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias, TypeVar

Reason: TypeAlias = Literal["time", "memory", "killed"]
"""The reason for which a search ended early. "killed": a solver was ended from outside, often when memory ran out."""

LOOK: Final = 0.02
"""Seconds between two looks at the memory of this process, which take far longer than looks at the clock."""

Item = TypeVar("Item")


class BudgetExceeded(Exception):
    """A search is over before its end; `model` is the best solution that was found."""

    def __init__(self, reason: Reason, model: list[int] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.model = model


class SearchLimits:
    """The moment at which a search must be over, and the memory that this process may take until then."""

    def __init__(self, seconds: float | None = None, memory: int | None = None, base: int = 0) -> None:
        """Starts the clock.

        Args:
            seconds: The time of the search from now on; None for no limit.
            memory: The bytes of each process for it; None for no limit.
            base: The bytes of this process for other things, which it may take beside.
        """
        self.started = time.monotonic()
        self.memory = memory
        self._base = base
        self._deadline = math.inf if seconds is None else self.started + seconds
        self._next_look = math.inf if seconds is None and memory is None else self.started

    @property
    def seconds(self) -> float:
        """The time since the search began."""
        return time.monotonic() - self.started

    @property
    def left(self) -> float:
        """The seconds until the search must be over, never less than none."""
        return max(0.0, self._deadline - time.monotonic())

    def check(self) -> None:
        """Cheap enough for inner loops.

        Raises:
            BudgetExceeded: if the time is up or this process has become too large.
        """
        now = time.monotonic()
        if now < self._next_look:
            return
        if now >= self._deadline:
            raise BudgetExceeded("time")
        if self.memory is not None and memory_taken() > self._base + self.memory:
            raise BudgetExceeded("memory")
        self._next_look = self._deadline if self.memory is None else min(self._deadline, now + LOOK)

    def checked(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, with a check before each."""
        for item in items:
            self.check()
            yield item

    def within(self, seconds: float) -> SearchLimits:
        """The same limits for a part of the search, which may take at most this time from now on."""
        return SearchLimits(min(self.left, seconds), self.memory, self._base)

    def extended(self, seconds: float) -> SearchLimits:
        """The same limits, extended by this time from now on: to finish the work on a result."""
        return SearchLimits(self.left + seconds, self.memory, self._base)


class ProcessorClock:
    """The processor time of another process, which other programs on the same cores do not change.

    Only Linux tells it. Other systems have the time on the wall since the clock was made.
    """

    def __init__(self, pid: int) -> None:
        self._began = time.monotonic()
        self._id = ~pid << 3 | 2  # the number of the clock that Linux keeps for each process
        self._last = 0.0

    def seconds(self) -> float:
        """The seconds so far; of a process that has ended, those when it was last asked."""
        if sys.platform != "linux":
            return time.monotonic() - self._began
        with contextlib.suppress(OSError):
            self._last = time.clock_gettime(self._id)
        return self._last


def memory_taken() -> int:
    """The memory of this process in bytes; on systems other than Linux, its peak."""
    try:
        with open("/proc/self/statm", "rb") as pages:
            return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        return _memory_peak()


def _memory_peak() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
