"""The progress of a run that learns machines: a live display on a terminal, or lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rewardmachines.cli.progress.train import Speed, bars, clock, live, show_nothing
from rewardmachines.cli.shared import say
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.induction import Learning
from rewardmachines.lhrm.resumable import Chunk
from rewardmachines.lhrm.setbacks import Cause, Event
from rewardmachines.lhrm.spec import LearnOrder
from rewardmachines.runs.budget import Budget

_EVENTS: Final = 6
"""How many of the last events are shown."""
_BAR: Final = 12
_COLUMNS: Final = ("task", "return", " ", "instances", "machine", "relearned", "examples", "solver")
_NUMBERS: Final = ("return", "relearned", "examples", "solver")
_EXTRAS: Final = (" ", "relearned", "solver")
"""The columns that are shown on wide terminals only."""
_WIDE: Final = 106
"""The least width of a wide terminal in characters."""
_LONG: Final = 2.0
"""After how many seconds without news the display says what takes so long."""
_SEARCH: Final = 10.0
"""Seconds of a search after which logs have a line about it, and then another."""


@dataclass(frozen=True)
class Heading:
    """What is shown of an order: a line, and when the run ends."""

    title: str
    budget: Budget
    stop_at: float


@contextmanager
def watching_learning(order: LearnOrder | Heading, *, quiet: bool = False) -> Iterator[Callable[[Chunk], object]]:
    """Yields a function to be called with every chunk.

    Args:
        order: What is learned.
        quiet: Whether nothing is shown.
    """
    if quiet:
        yield show_nothing
        return
    if not sys.stdout.isatty():
        lines = Lines()
        with announcing([lines]):
            yield lines
        return
    display = Display(order)
    with live(display.render):
        yield display.update


def title(order: LearnOrder) -> str:
    """What is learned, where, and with which seed, in a line."""
    return f"{subject(order)} · seed {order.spec.seed}"


def subject(order: LearnOrder) -> str:
    """What is learned, and where, in a line."""
    spec = order.spec
    tasks = "1 task" if len(spec.tasks) == 1 else f"{len(spec.tasks)} tasks"
    return f"{spec.domain} {spec.setting} · {tasks}"


def event_text(event: Event) -> str:
    """What was learned, and why, in a line."""
    if event.cause is Cause.PROBLEM:
        return f"{event.task}: given up"
    why = {
        Cause.GOALS: f"{event.goals} goal trace{'' if event.goals == 1 else 's'}",
        Cause.COUNTEREXAMPLE: "counterexample",
        Cause.CALLEE: "a machine that it calls has changed",
    }[event.cause]
    return f"{event.task}: {why} → {_size(event.states, event.edges)}"


def _size(states: int, edges: int) -> str:
    return f"{states} states, {edges} edge{'' if edges == 1 else 's'}"


def height(level: int, highest: int) -> str:
    """The level that a run has reached, in words."""
    return f"level {level} of {highest}" if level <= highest else f"all {highest} levels mastered"


class Lines:
    """A line for each event and for each evaluation, for logs."""

    def __init__(self, prefix: str = "") -> None:
        self._speed = Speed()
        self._prefix = prefix
        self._last: Chunk | None = None
        self._announced = time.monotonic()

    def announce(self) -> None:
        """Prints a line if a search for a machine has held the run up since the last one, for `_SEARCH` seconds."""
        searched = None if self._last is None else self._last.run.machines.searching
        if self._last is None or searched is None or time.monotonic() - self._announced < _SEARCH:
            return
        self._announced = time.monotonic()
        print(f"{self._prefix}{self._last.row.steps:>10,} steps  searching for a machine of {searched} …", flush=True)

    def __call__(self, chunk: Chunk) -> None:
        run, row, moment = chunk
        self._last, self._announced = chunk, time.monotonic()
        self._speed.note(row.steps)
        for event in row.learned:
            say(f"{self._prefix}{row.steps:>10,} steps  {event_text(event)}")
        if row.returns is None:
            return
        returns = [float(np.mean(of_task)) for of_task in row.returns]
        say(
            f"{self._prefix}{row.steps:>10,} steps  {height(row.level, max(run.curriculum.levels))}  "
            f"{len(run.pool.learned)} of {len(run.tasks)} machines  return {np.mean(returns):.2f} "
            f"({' '.join(f'{name} {value:.2f}' for name, value in zip(run.tasks, returns, strict=True))})  "
            f"{self._speed.per_second:,.0f} steps/s  {clock(moment.seconds)}",
        )


@contextmanager
def announcing(lines: Sequence[Lines]) -> Iterator[None]:
    """Inside, a thread lets lines announce long searches, during which no chunk ends."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_LONG):
            for one in lines:
                one.announce()

    thread = threading.Thread(target=watch, name="announcing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class Display:
    """A table that is kept up to date, for people at a terminal."""

    def __init__(self, order: LearnOrder | Heading) -> None:
        self._order = order if isinstance(order, Heading) else Heading(title(order), order.budget, order.stop_at)
        self._speed = Speed()
        self._updated = time.monotonic()
        self._last: Chunk | None = None
        self._events: deque[tuple[float, Event]] = deque(maxlen=_EVENTS)

    def update(self, chunk: Chunk) -> None:
        """Takes in what a chunk brought."""
        self._speed.note(chunk.row.steps)
        self._updated, self._last = time.monotonic(), chunk
        self._events.extend((chunk.moment.seconds, event) for event in chunk.row.learned)

    def render(self) -> RenderableType:
        """What the terminal shows now."""
        heading = Text(self._order.title, style="bold")
        if self._last is None:
            return Group(heading, Text(f"compiling … {clock(self._speed.seconds)}", style="dim"))
        seconds = self._last.moment.seconds + time.monotonic() - self._updated
        table = self._table(self._last.run)
        progress = (self._level_and_budget(self._last, seconds), self._counts(self._last, seconds))
        parts: list[RenderableType] = [heading, *progress, Text(), table, Text()]
        room = shutil.get_terminal_size().lines - len(parts) - table.row_count - 1
        events = list(self._events)[-max(1, room) :]
        return Group(*parts, *(self._event(seconds, event) for seconds, event in events))

    # -- how far it is

    def _level_and_budget(self, chunk: Chunk, seconds: float) -> Table:
        """The level, and the share of the budget that is spent, if there is one."""
        line = Table.grid(padding=(0, 2, 0, 0))
        level = Text(height(chunk.row.level, max(chunk.run.curriculum.levels)), style="bold cyan")
        budget, steps = self._order.budget, chunk.row.steps
        if budget.seconds is not None:
            left: float | None = budget.seconds - seconds
            spent = seconds / budget.seconds
        elif budget.steps is not None:
            speed = self._speed.per_second
            left = (budget.steps - steps) / speed if speed else None
            spent = steps / budget.steps
        elif budget.episodes is not None:
            left, spent = None, chunk.row.episodes / budget.episodes
        else:
            line.add_row(level)
            return line
        time_left = "" if left is None else f"{clock(max(left, 0))} left at most"
        line.add_row(level, ProgressBar(total=1, completed=min(spent, 1), width=2 * _BAR), time_left)
        return line

    def _counts(self, chunk: Chunk, seconds: float) -> Text:
        """Steps, episodes and speed; or, without news for long, what the run is busy with."""
        row, quiet = chunk.row, time.monotonic() - self._updated
        line = Text(f"{row.steps:,} steps · {row.episodes:,} episodes · {clock(seconds)} · ")
        if quiet < _LONG:
            return line.append(f"{self._speed.per_second:,.0f} steps/s")
        searched = chunk.run.machines.searching
        busy = "compiling" if searched is None else f"searching for a machine of {searched}"
        return line.append(f"{busy} … {quiet:.0f} s", style="yellow")

    # -- what is known of the tasks

    def _table(self, run: Lhrm) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        names = [name for name in _COLUMNS if self._has_room_for(name)]
        for name in names:
            table.add_column(name.strip(), justify="right" if name in _NUMBERS else "left", no_wrap=True)
        levels = run.curriculum.levels
        for level in sorted(set(levels)):
            table.add_row(self._level(level, run.curriculum.level))
            for i in (i for i, own in enumerate(levels) if own == level):
                cells = self._cells(run, i)
                table.add_row(*(cells[name] for name in names))
        return table

    def _has_room_for(self, column: str) -> bool:
        """Whether the terminal is wide enough for the column."""
        return column not in _EXTRAS or shutil.get_terminal_size().columns >= _WIDE

    def _level(self, level: int, now: int) -> Text:
        state = "mastered" if level < now else "now" if level == now else "later"
        return Text(f"level {level} · {state}", style={"mastered": "green", "now": "bold cyan", "later": "dim"}[state])

    def _cells(self, run: Lhrm, i: int) -> dict[str, RenderableType]:
        """What the table says of a task, by column."""
        name, learning = run.tasks[i], run.learnings[run.tasks[i]]
        is_active = bool(run.curriculum.is_active[i])
        returns = run.recent[-1][i] if run.recent and is_active and name in run.pool.learned else None
        mean = 0.0 if returns is None else float(np.mean(returns))
        colour = self._colour(mean)
        cells: tuple[RenderableType, ...] = (
            Text(f"  {name}", style="" if is_active else "dim"),
            "–" if returns is None else f"{mean:.2f}",
            ProgressBar(total=1, completed=mean, width=_BAR, complete_style=colour, finished_style=colour),
            Text() if returns is None else bars(returns),
            _machine(run, name, learning),
            str(learning.learned - 1) if learning.learned > 1 else "",
            str(len(learning.examples.traces)) if learning.examples.has_begun else "",
            f"{learning.seconds:.2f} s" if learning.calls else "",
        )
        return dict(zip(_COLUMNS, cells, strict=True))

    def _colour(self, value: float) -> str:
        return "green" if value >= self._order.stop_at else "yellow" if value >= 0.5 else "red"

    def _event(self, seconds: float, event: Event) -> Text:
        line = Text.assemble((clock(seconds), "dim"), "  ", event_text(event))
        if event.message is not None:
            line.append(f" ({event.message.removeprefix(f'{event.task}: ')})", style="red")
        return line


def _machine(run: Lhrm, name: str, learning: Learning) -> Text:
    """The size of the task's machine, or what is known while there is none."""
    if learning.problem is not None:
        return Text("given up", style="red")
    if name in run.pool.learned:
        machine = run.pool.learned[name]
        return Text(_size(len(machine.states), len(machine.edges)))
    if name == run.machines.searching:
        return Text("searching …", style="yellow")
    few, wanted = len(learning.examples.goals), learning.examples.wanted
    return Text(f"{few} of {wanted} goal traces", style="dim" if not few else "")
