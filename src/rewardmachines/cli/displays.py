"""Parts of displays: what is refreshed on a terminal, durations, speeds, bars, and the time that a command takes."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Final

from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from rewardmachines.cli.shared import SafeConsole, log

_BARS: Final = "▁▂▃▄▅▆▇█"
MOST_BARS: Final = 20
"""More do not fit beside each other."""
_RECENT: Final = 12
"""Over how many chunks the speed is measured."""


@contextmanager
def live(render: Callable[[], RenderableType]) -> Iterator[None]:
    """Renders a display on the terminal several times a second; the last one stays after the block."""
    with Live(render(), console=SafeConsole(), refresh_per_second=4, get_renderable=render):
        yield


def clock(seconds: float) -> str:
    """A duration as hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))


def bars(returns: Sequence[float]) -> Text:
    """A small bar for the return of each instance; of many, for the mean of neighbours."""
    text = Text()
    together = -(-len(returns) // MOST_BARS) or 1
    groups = [returns[first : first + together] for first in range(0, len(returns), together)]
    for value in (sum(group) / len(group) for group in groups):
        height = round(min(max(value, 0), 1) * (len(_BARS) - 1))
        text.append(_BARS[height], style="green" if value >= 0.5 else "red")
    return text


class Speed:
    """The recent speed of a run. The time until the first chunk is done does not count."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._seen: deque[tuple[float, int]] = deque(maxlen=_RECENT)

    def note(self, steps: int) -> None:
        """Takes note of how many steps the run has taken so far."""
        self._seen.append((time.monotonic(), steps))

    @property
    def per_second(self) -> float:
        """Steps a second."""
        if len(self._seen) < 2:
            return 0.0
        (before, fewer), (now, more) = self._seen[0], self._seen[-1]
        return (more - fewer) / max(now - before, 1e-9)

    @property
    def seconds(self) -> float:
        """The seconds since the run began."""
        return time.monotonic() - self._began


class Phases:
    """The phases of a command, each from the end of the previous phase. The first begins with the process."""

    _is_new: ClassVar[bool] = True
    """Whether the process has run no command yet: the start of a later one is not that of the process."""

    def __init__(self) -> None:
        self._last = time.monotonic() - (process_age() if Phases._is_new else 0.0)
        self._parts: list[tuple[str, float]] = []
        Phases._is_new = False

    def end(self, aim: str) -> None:
        """Ends a phase.

        Args:
            aim: The purpose of the time, in words that follow a number of seconds.
        """
        now = time.monotonic()
        self._parts.append((aim, now - self._last))
        self._last = now

    def end_run(self, aim: str, timing: Sequence[Any], *, is_new: bool) -> None:
        """Ends the phase in which chunks are computed.

        Args:
            aim: As for `end`.
            timing: When chunks were done (`TimingRow`). The first chunk takes as long as its programs to compile.
            is_new: Whether all of them were computed by this command.
        """
        first = f", {timing[0].seconds:,.1f} s of them until the first chunk was done" if is_new and timing else ""
        self.end(f"{aim}{first}")

    def log(self, *, quiet: bool = False) -> None:
        """Writes the whole time and its phases, of which the clock of the run counts one only, to standard error."""
        if not quiet:
            log(str(self))

    def __str__(self) -> str:
        whole = sum(seconds for _, seconds in self._parts)
        parts = ", ".join(f"{seconds:,.1f} s {aim}" for aim, seconds in self._parts)
        return f"{whole:,.1f} s in all: {parts}"


def process_age() -> float:
    """The seconds since the process was started; 0 where the system does not say."""
    try:
        # The name of the process, in parentheses, may contain anything. The 20th field after it is the start.
        ticks = int(Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0
