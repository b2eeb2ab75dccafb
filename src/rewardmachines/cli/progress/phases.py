"""The time that a command takes in all: from the start of its process, phase by phase."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rewardmachines.cli.shared import tell
from rewardmachines.runs.metrics_log import Moment


class Phases:
    """The phases of a command, each from the end of the one before. The first begins with the process."""

    _is_new: ClassVar[bool] = True
    """Whether the process has run no command yet: the start of a later one is not that of the process."""

    def __init__(self) -> None:
        self._last = time.monotonic() - (process_age() if Phases._is_new else 0.0)
        self._parts: list[tuple[str, float]] = []
        Phases._is_new = False

    def end(self, aim: str) -> None:
        """Ends a phase.

        Args:
            aim: What the time was for, in words that follow a number of seconds.
        """
        now = time.monotonic()
        self._parts.append((aim, now - self._last))
        self._last = now

    def end_run(self, aim: str, moments: Sequence[Moment], *, is_new: bool) -> None:
        """Ends the phase in which chunks are computed.

        Args:
            aim: As for `end`.
            moments: The moments at which chunks were done. The first chunk takes as long as its programs to compile.
            is_new: Whether all of them were computed by this command.
        """
        first = f", {moments[0].seconds:,.1f} s of them until the first chunk was done" if is_new and moments else ""
        self.end(f"{aim}{first}")

    def tell(self, *, quiet: bool = False) -> None:
        """Writes the whole time and its phases, of which the clock of the run counts one only, to standard error."""
        if not quiet:
            tell(str(self))

    def __str__(self) -> str:
        whole = sum(seconds for _, seconds in self._parts)
        parts = ", ".join(f"{seconds:,.1f} s {aim}" for aim, seconds in self._parts)
        return f"{whole:,.1f} s in all: {parts}"


def process_age() -> float:
    """The seconds since the process was started; 0 where the system does not tell."""
    try:
        # The name of the process, in parentheses, may contain anything. The 20th field after it is the start.
        ticks = int(Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0
