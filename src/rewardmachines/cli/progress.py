"""The progress of runs that train or learn: a live display on a terminal, otherwise lines."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rewardmachines.cli.displays import Speed, bars, clock, live
from rewardmachines.cli.shared import say
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.rollout.rows import MachineUpdate, Row, Trigger
from rewardmachines.runs.config import RunConfig
from rewardmachines.runs.journal import Chunk
from rewardmachines.runs.session import Session
from rewardmachines.runs.stopping import end_of

_EVENTS: Final = 6
"""The number of the last events that are shown."""
_BAR: Final = 12
_NUMBERS: Final = frozenset(
    {"return", "relearned", "examples", "solver", "goals", "exploration", "losses", "seed", "machines", "steps",
     "episodes", "time"}
)  # fmt: skip
"""The columns of numbers."""
_EXTRAS: Final = (" ", "relearned", "solver")
"""The columns that are shown on wide terminals only."""
_WIDE: Final = 106
"""The least width of a wide terminal in characters."""
_LONG: Final = 2.0
"""Seconds without news after which the display says what takes time."""
_SEARCH: Final = 10.0
"""Seconds of a search after which logs have a line about it, and then another."""

Watch = Callable[[int, Chunk], object]
"""Called with the number of a run and with every chunk of it."""


@contextmanager
def watching(configs: Sequence[RunConfig], *, quiet: bool = False) -> Iterator[Watch]:
    """Yields a function to be called with the number of a run and with every chunk of it.

    Args:
        configs: The config of each run.
        quiet: Whether nothing is shown.
    """
    if quiet:
        yield lambda _number, _chunk: None
    elif sys.stdout.isatty():
        display = Display(configs)
        with live(display.render):
            yield display.update
    else:
        lines = [ProgressLines(f"seed {config.seed:<3} " if len(configs) > 1 else "") for config in configs]
        with _announcing(lines):
            yield lambda number, chunk: lines[number](chunk)


# -- what is said of a run in words


def _searched(session: Session) -> str | None:
    """The task whose machine is being searched for."""
    return None if session.lhrm is None else session.lhrm.machines.searching


def _height(run: Lhrm, level: int) -> str:
    """The level that a run has reached."""
    highest = max(run.curriculum.levels)
    return f"level {level} of {highest}" if level <= highest else f"all {highest} levels mastered"


def _event_text(event: MachineUpdate) -> str:
    """The line of a machine that was learned, and why."""
    if event.cause is Trigger.PROBLEM:
        return f"{event.task}: given up"
    why = {
        Trigger.GOALS: f"{event.goals} goal trace{'' if event.goals == 1 else 's'}",
        Trigger.COUNTEREXAMPLE: "counterexample",
        Trigger.CALLEE: "a machine that it calls has changed",
    }[event.cause]
    return f"{event.task}: {why} → {_size(event.states, event.edges)}"


def _size(states: int, edges: int) -> str:
    return f"{states} states, {edges} edge{'' if edges == 1 else 's'}"


def _goals(row: Row) -> str:
    """The share of the episodes that ended at their goals."""
    return f"{sum(row.goals) / sum(row.ended):.0%}" if sum(row.ended) else "–"


def _losses(row: Row) -> str:
    return f"{row.formula_loss:.4f} {row.call_loss:.4f}"


# -- lines, for logs


class ProgressLines:
    """A line for each event and for each evaluation of a run."""

    def __init__(self, prefix: str = "") -> None:
        self._speed, self._prefix = Speed(), prefix
        self._last: Chunk | None = None
        self._announced = time.monotonic()

    def _say(self, row: Row, text: str) -> None:
        say(f"{self._prefix}{row.steps:>10,} steps  {text}")

    def announce(self) -> None:
        """Prints a line if a search for a machine has held the run up since the last one, for `_SEARCH` seconds."""
        searched = None if self._last is None else _searched(self._last.session)
        if self._last is None or searched is None or time.monotonic() - self._announced < _SEARCH:
            return
        self._announced = time.monotonic()
        self._say(self._last.row, f"searching for a machine of {searched} …")

    def __call__(self, chunk: Chunk) -> None:
        row, session, lhrm = chunk.row, chunk.session, chunk.session.lhrm
        self._last, self._announced = chunk, time.monotonic()
        self._speed.note(row.steps)
        for event in row.learned:
            self._say(row, _event_text(event))
        if row.returns is None:
            return
        returns = [float(np.mean(of_task)) for of_task in row.returns]
        each = " ".join(f"{name} {value:.2f}" for name, value in zip(session.tasks, returns, strict=True))
        said = f"return {np.mean(returns):.2f}"
        if lhrm is not None:
            machines = f"{len(lhrm.pool.learned)} of {len(lhrm.tasks)} machines"
            said = f"{_height(lhrm, row.level)}  {machines}  {said} ({each})"
        else:
            said += f"  goals {_goals(row)}  exploration {row.exploration:.2f}  losses {_losses(row)}"
        self._say(row, f"{said}  {self._speed.per_second:,.0f} steps/s  {clock(chunk.timing.seconds)}")


@contextmanager
def _announcing(lines: Sequence[ProgressLines]) -> Iterator[None]:
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


# -- a display, on a terminal


class Display:
    """The table of a run's tasks, or of several runs, kept up to date."""

    def __init__(self, configs: Sequence[RunConfig]) -> None:
        self._configs = configs
        self._speeds = [Speed() for _ in configs]
        self._last: dict[int, Chunk] = {}
        self._updated = time.monotonic()
        self._events: deque[tuple[int, float, MachineUpdate]] = deque(maxlen=_EVENTS * len(configs))

    def update(self, number: int, chunk: Chunk) -> None:
        """Takes in what a chunk brought to a run."""
        self._speeds[number].note(chunk.row.steps)
        self._updated = time.monotonic()
        self._last = {**self._last, number: chunk}
        self._events.extend((number, chunk.timing.seconds, event) for event in chunk.row.learned)

    def render(self) -> RenderableType:
        """The present content of the terminal."""
        last, several = self._last, len(self._configs) > 1
        title, passed = self._configs[0].title, clock(self._speeds[0].seconds)
        heading = Text(f"{title.rpartition(' · ')[0]} · {len(self._configs)} runs" if several else title, style="bold")
        if not last:
            return Group(heading, Text(f"compiling … {passed}", style="dim"))
        if not several:
            return Group(heading, *self._single(last[0]))
        going = [number for number, chunk in last.items() if not self._ending(number, chunk)]
        speed = sum(self._speeds[number].per_second for number in going)
        rows = [
            {"seed": str(config.seed), **(self._run_cells(number, last[number]) if number in last else {})}
            for number, config in enumerate(self._configs)
        ]
        over = {number for number in last if number not in going}
        table = _table(rows, lambda number: "dim" if number in over else "")
        return Group(heading, Text(f"{len(going)} under way · {speed:,.0f} steps/s · {passed}"), Text(), table)

    # -- one run

    def _single(self, chunk: Chunk) -> list[RenderableType]:
        """The state of the run, its tasks, and the last events."""
        seconds = chunk.timing.seconds + time.monotonic() - self._updated
        rows, run = [self._task_cells(chunk, i) for i in range(len(chunk.session.tasks))], chunk.session.lhrm
        levels = () if run is None else run.curriculum.levels
        table = _table(rows, headings={levels.index(level): _level(level, chunk.row.level) for level in set(levels)})
        parts: list[RenderableType] = [self._progress(chunk, seconds), self._counts(chunk, seconds), Text(), table]
        if self._events:
            room = shutil.get_terminal_size().lines - len(parts) - table.row_count - 3
            parts += [Text(), *(_event(*event[1:]) for event in list(self._events)[-max(1, room) :])]
        return parts

    def _progress(self, chunk: Chunk, seconds: float) -> Table:
        """The level, if there are levels, and the share of the budget that is spent, if there is one."""
        budget, row, run = self._configs[0].budget, chunk.row, chunk.session.lhrm
        cells: list[RenderableType] = []
        if run is not None:
            cells.append(Text(_height(run, row.level), style="bold cyan"))
        limits = ((row.steps, budget.steps), (row.episodes, budget.episodes), (seconds, budget.seconds))
        if spent := [count / limit for count, limit in limits if limit is not None]:
            cells.append(ProgressBar(total=1, completed=min(max(spent), 1), width=2 * _BAR))
        left = [] if budget.seconds is None else [budget.seconds - seconds]
        if budget.steps is not None and (speed := self._speeds[0].per_second):
            left.append((budget.steps - row.steps) / speed)
        if left:
            cells.append(f"{clock(max(min(left), 0))} left at most")
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_row(*cells)
        return line

    def _counts(self, chunk: Chunk, seconds: float) -> Text:
        """Steps, episodes and speed; or, without news for long, what the run is busy with."""
        row, budget, quiet = chunk.row, self._configs[0].budget, time.monotonic() - self._updated
        line = Text(f"{_of(row.steps, budget.steps)} steps · {_of(row.episodes, budget.episodes)} episodes · ")
        line.append(f"{clock(seconds)} · ")
        if quiet < _LONG:
            return line.append(f"{self._speeds[0].per_second:,.0f} steps/s")
        searched = _searched(chunk.session)
        busy = "compiling" if searched is None else f"searching for a machine of {searched}"
        return line.append(f"{busy} … {quiet:.0f} s", style="yellow")

    def _task_cells(self, chunk: Chunk, i: int) -> dict[str, RenderableType]:
        """The cells of a task's row, by column."""
        run, lhrm, row = chunk.session.trained, chunk.session.lhrm, chunk.row
        name, returns = run.tasks[i], run.recent[-1][i] if run.recent else None
        is_active = lhrm is None or bool(lhrm.curriculum.is_active[i])
        if not is_active or not run.is_playable[i]:
            returns = None
        mean = 0.0 if returns is None else float(np.mean(returns))
        colour = "green" if mean >= self._configs[0].stop_at else "yellow" if mean >= 0.5 else "red"
        cells: dict[str, RenderableType] = {
            "task": Text(f"  {name}", style="" if is_active else "dim"),
            "return": "–" if returns is None else f"{mean:.2f}",
            " ": ProgressBar(total=1, completed=mean, width=_BAR, complete_style=colour, finished_style=colour),
            "instances": Text() if returns is None else bars(returns),
        }
        if lhrm is None:
            return cells | {"goals": _goals(row), "exploration": f"{row.exploration:.2f}", "losses": _losses(row)}
        progress = lhrm.progress[name]
        return cells | {
            "machine": _machine(lhrm, name),
            "relearned": str(progress.learned - 1) if progress.learned > 1 else "",
            "examples": str(len(progress.examples.traces)) if progress.examples.has_begun else "",
            "solver": f"{progress.seconds:.2f} s" if progress.calls else "",
        }

    # -- several runs

    def _run_cells(self, number: int, chunk: Chunk) -> dict[str, RenderableType]:
        """The cells of a run's row, by column."""
        run, row, searched = chunk.session.trained, chunk.row, _searched(chunk.session)
        cells: dict[str, RenderableType] = {}
        if (lhrm := chunk.session.lhrm) is not None:
            cells = {"level": _height(lhrm, row.level), "machines": f"{len(lhrm.pool.learned)} of {len(lhrm.tasks)}"}
        news = [_event_text(event) for one, _, event in self._events if one == number][-1:]
        return cells | {
            "return": f"{np.mean(run.recent[-1]):.2f}" if run.recent else "–",
            "steps": f"{row.steps:,}",
            "episodes": f"{row.episodes:,}",
            "goals": _goals(row),
            "exploration": f"{row.exploration:.2f}",
            "time": clock(chunk.timing.seconds),
            "last news": self._ending(number, chunk) or (f"{searched}: searching …" if searched else "".join(news)),
        }

    def _ending(self, number: int, chunk: Chunk) -> str:
        """The end of a run in words; empty, while it is under way."""
        end = end_of(self._configs[number], chunk.session.algorithm, chunk.timing.seconds)
        return "" if end is None else end.value


def _table(
    rows: Sequence[dict[str, RenderableType]],
    style: Callable[[int], str] = lambda _: "",
    headings: Mapping[int, Text] | None = None,
) -> Table:
    """A table of rows by column, some with a heading above them. Narrow terminals get fewer columns."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    is_wide = shutil.get_terminal_size().columns >= _WIDE
    names = [name for name in max(rows, key=len) if is_wide or name not in _EXTRAS]
    for name in names:
        table.add_column(name.strip(), justify="right" if name in _NUMBERS else "left", no_wrap=True)
    for number, cells in enumerate(rows):
        if headings and number in headings:
            table.add_row(headings[number])
        table.add_row(*(cells.get(name, "–") for name in names), style=style(number))
    return table


def _of(count: int, limit: int | None) -> str:
    return f"{count:,}" if limit is None else f"{count:,} of {limit:,}"


def _level(level: int, now: int) -> Text:
    state = "mastered" if level < now else "now" if level == now else "later"
    return Text(f"level {level} · {state}", style={"mastered": "green", "now": "bold cyan", "later": "dim"}[state])


def _event(seconds: float, event: MachineUpdate) -> Text:
    line = Text.assemble((clock(seconds), "dim"), "  ", _event_text(event))
    if event.message is not None:
        line.append(f" ({event.message.removeprefix(f'{event.task}: ')})", style="red")
    return line


def _machine(run: Lhrm, name: str) -> Text:
    """The size of the task's machine, or what is known while there is none."""
    progress = run.progress[name]
    if progress.problem is not None:
        return Text("given up", style="red")
    if name in run.pool.learned:
        machine = run.pool.learned[name]
        return Text(_size(len(machine.states), len(machine.edges)))
    if name == run.machines.searching:
        return Text("searching …", style="yellow")
    few, wanted = len(progress.examples.goals), progress.examples.wanted
    return Text(f"{few} of {wanted} goal traces", style="dim" if not few else "")
