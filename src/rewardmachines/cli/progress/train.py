"""The progress of a training run: a live display on a terminal, or a line for each evaluation elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

import numpy as np
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rewardmachines.agents.training.rows import Row
from rewardmachines.cli.shared import SafeConsole
from rewardmachines.runs.budget import Budget

_BARS: Final = "▁▂▃▄▅▆▇█"
MOST_BARS: Final = 20
"""More do not fit beside each other."""
_RECENT: Final = 12
"""Over how many chunks the speed is measured."""


@dataclass(frozen=True)
class Watched:
    """A run that is watched: what it is called, and when it ends."""

    title: str
    budget: Budget
    seeds: int
    """The number of agents that are trained side by side."""


class Watcher(Protocol):
    """Is called with the rows of every chunk."""

    def __call__(self, rows: Sequence[Row]) -> object: ...


@contextmanager
def watching(run: Watched, *, quiet: bool = False) -> Iterator[Watcher]:
    """Yields a function to be called with the rows of every chunk.

    Args:
        run: What is trained.
        quiet: Whether nothing is shown.
    """
    if quiet:
        yield show_nothing
        return
    speed = Speed(run.seeds)
    if not sys.stdout.isatty():
        yield _Lines(speed)
        return
    display = _Display(run, speed)
    with live(display.render):
        yield display.update


@contextmanager
def live(render: Callable[[], RenderableType]) -> Iterator[None]:
    """Renders a display on the terminal several times a second; the last one stays after the block."""
    with Live(render(), console=SafeConsole(), refresh_per_second=4, get_renderable=render):
        yield


def show_nothing(*_: object, **__: object) -> None:
    """Takes what there is to show, and shows nothing."""


class Speed:
    """The recent speed of all seeds together. The time until the first chunk is done does not count."""

    def __init__(self, seeds: int = 1) -> None:
        self._seeds, self._began = seeds, time.monotonic()
        self._seen: deque[tuple[float, int]] = deque(maxlen=_RECENT)

    def note(self, steps: int) -> None:
        """Takes note of how many steps each seed has taken so far."""
        self._seen.append((time.monotonic(), steps))

    @property
    def per_second(self) -> float:
        """Steps a second, of all seeds together."""
        if len(self._seen) < 2:
            return 0.0
        (before, fewer), (now, more) = self._seen[0], self._seen[-1]
        return self._seeds * (more - fewer) / max(now - before, 1e-9)

    @property
    def seconds(self) -> float:
        """The seconds since the run began."""
        return time.monotonic() - self._began


class _Lines:
    """A line for each evaluation, for logs."""

    def __init__(self, speed: Speed) -> None:
        self._speed = speed

    def __call__(self, rows: Sequence[Row]) -> None:
        self._speed.note(rows[0].steps)
        returns = [row.mean_return for row in rows if row.mean_return is not None]
        if not returns:
            return
        each = f" ({' '.join(f'{r:.2f}' for r in returns)})" if len(returns) > 1 else ""
        print(
            f"{rows[0].steps:>10,} steps  return {np.mean(returns):.2f}{each}  goals {_goals(rows)}  "
            f"exploration {np.mean([row.exploration for row in rows]):.2f}  losses {_losses(rows)}  "
            f"{self._speed.per_second:,.0f} steps/s  {clock(self._speed.seconds)}",
            flush=True,
        )


class _Display:
    """A table that is kept up to date, for people at a terminal."""

    def __init__(self, run: Watched, speed: Speed) -> None:
        self._run, self._speed = run, speed
        self._rows: Sequence[Row] = []
        self._evaluated: Sequence[Row] = []

    def update(self, rows: Sequence[Row]) -> None:
        """Takes in the rows of a chunk."""
        self._speed.note(rows[0].steps)
        self._rows = rows
        if rows[0].returns is not None:
            self._evaluated = rows

    def render(self) -> RenderableType:
        """What the terminal shows now."""
        return Group(Text(self._run.title, style="bold"), self._progress(), self._table())

    def _progress(self) -> Table:
        run, speed = self._run, self._speed.per_second
        passed = clock(self._speed.seconds)
        if (limit := run.budget.steps) is not None:
            steps = self._rows[0].steps if self._rows else 0
            left = clock(max(0, limit - steps) * run.seeds / speed) if speed else "–"
            passed = f"{passed}, {left} left at most"
        elif (seconds := run.budget.seconds) is not None:
            passed = f"{passed} of {clock(seconds)}"
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_row(
            ProgressBar(total=1.0, completed=_spent(run, self._rows), width=30),
            _progress_text(run, self._rows),
            f"{speed:,.0f} steps/s" if speed else "compiling …",
            passed,
        )
        return line

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("seed", justify="right")
        table.add_column("return", justify="right", style="bold")
        table.add_column("instances")
        for name in ("episodes", "goals", "exploration", "losses"):
            table.add_column(name, justify="right")
        for number, row in enumerate(self._rows):
            evaluated = self._evaluated[number] if self._evaluated else None
            table.add_row(
                str(row.seed),
                f"{evaluated.mean_return:.2f}" if evaluated is not None else "–",
                bars(evaluated.returns) if evaluated is not None and evaluated.returns is not None else "",
                f"{row.episodes:,}",
                _goals([row]),
                f"{row.exploration:.2f}",
                _losses([row]),
            )
        return table


def _spent(run: Watched, rows: Sequence[Row]) -> float:
    """The share of the budget that the slowest seed has spent, between 0 and 1."""
    limits = [(run.budget.steps, "steps"), (run.budget.episodes, "episodes")]
    spent = [
        max((getattr(row, name) / count for count, name in limits if count is not None), default=0.0) for row in rows
    ]
    return min(1.0, *spent) if spent else 0.0


def _progress_text(run: Watched, rows: Sequence[Row]) -> str:
    """The steps of the first seed, and its episodes, if these are limited."""
    steps, episodes = (rows[0].steps, rows[0].episodes) if rows else (0, 0)
    parts = [f"{steps:,} of {run.budget.steps:,} steps" if run.budget.steps is not None else f"{steps:,} steps"]
    if run.budget.episodes is not None:
        parts.append(f"{episodes:,} of {run.budget.episodes:,} episodes")
    return " · ".join(parts)


def bars(returns: Sequence[float]) -> Text:
    """A small bar for the return of each instance; of many, for the mean of neighbours."""
    text = Text()
    together = -(-len(returns) // MOST_BARS) or 1
    groups = [returns[first : first + together] for first in range(0, len(returns), together)]
    for value in (sum(group) / len(group) for group in groups):
        height = round(min(max(value, 0), 1) * (len(_BARS) - 1))
        text.append(_BARS[height], style="green" if value >= 0.5 else "red")
    return text


def _goals(rows: Sequence[Row]) -> str:
    """The share of the episodes that ended at their goals."""
    ended = sum(row.ended for row in rows)
    return f"{sum(row.goals for row in rows) / ended:.0%}" if ended else "–"


def _losses(rows: Sequence[Row]) -> str:
    return " ".join(f"{np.mean([getattr(r, name) for r in rows]):.4f}" for name in ("formula_loss", "call_loss"))


def clock(seconds: float) -> str:
    """A duration as hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))
