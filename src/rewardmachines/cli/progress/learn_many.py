"""The progress of runs that learn machines side by side: a line for each on a terminal, or lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rewardmachines.cli.progress.learn import Lines, announcing, event_text, height, subject
from rewardmachines.cli.progress.train import Speed, clock, live, show_nothing
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.resumable import Chunk
from rewardmachines.lhrm.spec import LearnOrder

_COLUMNS: Final = ("seed", "level", "machines", "return", "steps", "episodes", "time", "last news")
_NUMBERS: Final = ("seed", "machines", "return", "steps", "episodes", "time")

Watch = Callable[[int, Chunk], object]
"""Called with the number of a run and with every chunk of it."""


@contextmanager
def watching_many(orders: Sequence[LearnOrder], *, quiet: bool = False) -> Iterator[Watch]:
    """Yields a function to be called with the number of a run and with every chunk of it.

    Args:
        orders: What is learned, by the numbers of the runs.
        quiet: Whether nothing is shown.
    """
    if quiet:
        yield show_nothing
        return
    if not sys.stdout.isatty():
        lines = [Lines(f"seed {order.spec.seed:<3} ") for order in orders]
        with announcing(lines):
            yield lambda number, chunk: lines[number](chunk)
        return
    display = ManyDisplay(orders)
    with live(display.render):
        yield display.update


class ManyDisplay:
    """A table with a line for each run that is kept up to date, for people at a terminal."""

    def __init__(self, orders: Sequence[LearnOrder]) -> None:
        self._orders = orders
        self._speeds = [Speed() for _ in orders]
        self._last: dict[int, Chunk] = {}
        self._news: dict[int, str] = {}
        self._began = time.monotonic()

    def update(self, number: int, chunk: Chunk) -> None:
        """Takes in what a chunk brought to a run."""
        self._speeds[number].note(chunk.row.steps)
        self._last[number] = chunk
        if chunk.row.learned:
            self._news[number] = event_text(chunk.row.learned[-1])

    def render(self) -> RenderableType:
        """What the terminal shows now."""
        heading = Text(f"{subject(self._orders[0])} · {len(self._orders)} runs", style="bold")
        passed = clock(time.monotonic() - self._began)
        if not self._last:
            return Group(heading, Text(f"compiling … {passed}", style="dim"))
        going = [n for n, chunk in self._last.items() if not self._is_over(n, chunk)]
        speed = sum(self._speeds[n].per_second for n in going)
        return Group(heading, Text(f"{len(going)} under way · {speed:,.0f} steps/s · {passed}"), Text(), self._table())

    def _is_over(self, number: int, chunk: Chunk) -> bool:
        order, row = self._orders[number], chunk.row
        is_spent = order.budget.is_spent(row.steps, row.episodes, chunk.moment.seconds)
        return is_spent or chunk.run.is_stuck or (order.stop_at > 0 and chunk.run.is_done(order.stop_at))

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in _COLUMNS:
            table.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=True)
        for number, order in enumerate(self._orders):
            chunk = self._last.get(number)
            cells = ["–"] * (len(_COLUMNS) - 1) if chunk is None else self._cells(number, chunk)
            is_over = chunk is not None and self._is_over(number, chunk)
            table.add_row(str(order.spec.seed), *cells, style="dim" if is_over else "")
        return table

    def _cells(self, number: int, chunk: Chunk) -> list[str]:
        """What the table says of a run, but for its seed."""
        run, row, moment = chunk
        return [
            height(row.level, max(run.curriculum.levels)),
            f"{len(run.pool.learned)} of {len(run.tasks)}",
            f"{np.mean(run.recent[-1]):.2f}" if run.recent else "–",
            f"{row.steps:,}",
            f"{row.episodes:,}",
            clock(moment.seconds),
            self._ending(number, chunk) or _search(run) or self._news.get(number, ""),
        ]

    def _ending(self, number: int, chunk: Chunk) -> str:
        """How a run has ended; nothing, while it is under way."""
        if not self._is_over(number, chunk):
            return ""
        if chunk.run.is_stuck:
            return "all tasks were given up"
        stop_at = self._orders[number].stop_at
        return "done" if stop_at > 0 and chunk.run.is_done(stop_at) else "the budget is spent"


def _search(run: Lhrm) -> str:
    """The machine that a run is searching for, in words; nothing, if it is not."""
    return "" if run.machines.searching is None else f"{run.machines.searching}: searching …"
