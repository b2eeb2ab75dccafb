"""The learning curves of a run of LHRM: returns by task and level, when machines were learned and when levels began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from rewardmachines.reports.charts import (
    COLOURS,
    FRAME,
    INK,
    LEGEND,
    RULE,
    SOFT,
    Numbers,
    dress,
    moving_mean,
    new_figure,
    panels,
    save_for_page,
    short,
    verbatim,
)
from rewardmachines.reports.page_parts import counted
from rewardmachines.rollout.rows import Row, Trigger
from rewardmachines.rollout.suite import TaskSpec
from rewardmachines.runs.run import Run

MANY: Final = 120
"""The largest number of evaluations that are drawn one by one; of more, the curve is their moving mean."""
WINDOW: Final = 20
"""The number of evaluations in a moving mean, as in the paper."""
_IDLE: Final = "#f1f3f5"
_FAILED: Final = "#c92a2a"
_FIRST: Final[dict[str, Any]] = {"color": INK, "linewidth": 1.1, "linestyle": (0, (4, 2))}
"""The look of the moment at which the first machine of a task was learned."""
_LATER: Final[dict[str, Any]] = {"color": SOFT, "linewidth": 0.9, "linestyle": (0, (1, 1.8))}
"""The look of the moments at which it was replaced."""


@dataclass(frozen=True)
class TaskCurve:
    """The learning curve of one task. All moments are numbers of environment steps."""

    task: TaskSpec
    steps: Numbers
    """The moments of the evaluations."""
    returns: Numbers
    """The greedy return of each evaluation, averaged over instances; NaN where the task was not active."""
    idle: tuple[tuple[float, float], ...]
    """The beginning and the end of each period in which the level of the task was not active."""
    first: float | None
    """The moment at which the first machine was learned, if there is one."""
    later: tuple[float, ...]
    """The moments at which the machine was replaced by a new one."""
    given_up: float | None
    """The moment at which the task was given up for the first time, if it was."""

    @property
    def machines(self) -> int:
        """The number of machines that were learned, one after another."""
        return (self.first is not None) + len(self.later)


@dataclass(frozen=True)
class CurveData:
    """The data behind the learning curves of a run."""

    tasks: tuple[TaskCurve, ...]
    """The curves, lowest level first."""
    steps: Numbers
    """The steps that were taken by the end of each chunk, beginning with 0."""
    episodes: Numbers
    """The episodes that had ended by the end of each chunk, beginning with 0."""
    levels: tuple[tuple[int, float], ...]
    """Each level above the first that was reached, and the number of steps at which it began for the first time."""

    @property
    def end(self) -> float:
        """The number of steps of the whole run."""
        return float(self.steps[-1])

    @property
    def has_evaluations(self) -> bool:
        """Whether the tasks were evaluated at least once."""
        return len(self.tasks[0].steps) > 0

    @property
    def window(self) -> int:
        """The number of evaluations in a moving mean: 1 where each of them is drawn as it is."""
        return WINDOW if len(self.tasks[0].steps) > MANY else 1

    def episodes_at(self, steps: float) -> float:
        """The number of episodes that had ended after a number of steps, interpolated between chunks."""
        return float(np.interp(steps, self.steps, self.episodes))

    def by_level(self) -> list[tuple[int, list[TaskCurve]]]:
        """The levels, lowest first, each with the curves of its tasks."""
        return [(level, list(curves)) for level, curves in groupby(self.tasks, key=lambda curve: curve.task.level)]


def curve_data(run: Run) -> CurveData:
    """Collects the data of the learning curves of a run, finished or not."""
    rows, tasks = run.rows, run.ranked_tasks
    steps, episodes = np.array([0.0, *(r.steps for r in rows)]), np.array([0.0, *(r.episodes for r in rows)])
    begun = {
        level: next((float(r.steps) for r in rows if r.level >= level), None) for level in {t.level for t in tasks}
    }
    levels = tuple((level, at) for level, at in sorted(begun.items()) if level > 1 and at is not None)
    return CurveData(tuple(_curve(rows, n, task) for n, task in enumerate(tasks)), steps, episodes, levels)


def _curve(rows: Sequence[Row], number: int, task: TaskSpec) -> TaskCurve:
    """The curve of the task with this number in the order of the run's tasks."""
    learned = [(float(row.steps), event.cause) for row in rows for event in row.learned if event.task == task.name]
    new = [at for at, cause in learned if cause is not Trigger.PROBLEM]
    given_up = next((at for at, cause in learned if cause is Trigger.PROBLEM), None)
    steps, returns = [], []
    for row in rows:
        if row.returns is not None:
            is_active = row.level >= task.level and (given_up is None or row.steps < given_up)
            steps.append(float(row.steps))
            returns.append(float(np.mean(row.returns[number])) if is_active else np.nan)
    return TaskCurve(
        task=task,
        steps=np.array(steps),
        returns=np.array(returns),
        idle=_idle(rows, task.level),
        first=new[0] if new else None,
        later=tuple(new[1:]),
        given_up=given_up,
    )


def _idle(rows: Sequence[Row], level: int) -> tuple[tuple[float, float], ...]:
    """The periods in which a level was not active. The level that a row names holds until the end of the next chunk."""
    levels = [(0.0, 1), *((float(row.steps), row.level) for row in rows)]
    spans: list[tuple[float, float]] = []
    for (begin, now), (end, _) in pairwise(levels):
        if now >= level:
            continue
        if spans and spans[-1][1] == begin:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((begin, end))
    return tuple(spans)


# -- a panel for each task


def draw_curves(data: CurveData, folder: Path) -> None:
    """Writes `curves.png` and `curves.svg`: a panel for each task, level by level, with a colour for each level.

    Args:
        data: The curves of all tasks, which were evaluated at least once.
        folder: The folder of the files.
    """
    drawn = panels([curve.task.name for curve in data.tasks], around=0.9)
    for number, (axes, curve) in enumerate(zip(drawn.axes, data.tasks, strict=True)):
        _draw_panel(axes, curve, data.end)
        if number < drawn.columns:
            _add_episode_axis(axes, data)
    drawn.add_legend(_marks(data))
    drawn.figure.supxlabel("environment steps (above the first line: episodes)", fontsize=9.5, color=SOFT)
    save_for_page(drawn.figure, folder / "curves")


def _draw_panel(axes: Any, curve: TaskCurve, end: float) -> None:
    axes.set_xlim(0, end)
    colour = _colour(curve.task.level)
    for begin, until in curve.idle:
        axes.axvspan(begin, until, color=_IDLE, linewidth=0, zorder=0)
    for at in curve.later:
        axes.axvline(at, zorder=1, **_LATER)
    if curve.first is not None:
        axes.axvline(curve.first, zorder=1.5, **_FIRST)
    _draw_returns(axes, curve.steps, curve.returns, colour)
    if curve.given_up is not None:
        axes.plot([curve.given_up], [0.5], marker="X", markersize=8, color=_FAILED, linestyle="none", clip_on=False)
    machines = counted(curve.machines, "machine") if curve.machines else "no machine"
    note = f"level {curve.task.level} · {machines if curve.given_up is None else 'given up'}"
    axes.set_title(note, loc="right", fontsize=7.5, color=colour, pad=4)


def _draw_returns(axes: Any, steps: Numbers, returns: Numbers, colour: str, linewidth: float = 1.7) -> None:
    """Draws evaluations; of many, the moving mean in front of them. A single point is drawn as a dot, to be visible."""
    if len(returns) > MANY:
        axes.plot(steps, returns, color=colour, linewidth=0.6, alpha=0.25, zorder=2)
        returns = moving_mean(returns, WINDOW)
    marker = "o" if np.isfinite(returns).sum() == 1 else None
    style: dict[str, Any] = {"color": colour, "linewidth": linewidth, "marker": marker, "markersize": 4, "zorder": 3}
    axes.plot(steps, returns, solid_capstyle="round", **style)


def _marks(data: CurveData) -> list[Any]:
    """The entries of the legend: one for each kind of mark that occurs in the curves."""
    marks: list[Any] = []
    if any(curve.first is not None for curve in data.tasks):
        marks.append(Line2D([], [], label="first machine", **_FIRST))
    if any(curve.later for curve in data.tasks):
        marks.append(Line2D([], [], label="machine learned again", **_LATER))
    if any(curve.idle for curve in data.tasks):
        marks.append(Patch(facecolor=_IDLE, edgecolor=FRAME, linewidth=0.6, label="level not active"))
    if any(curve.given_up is not None for curve in data.tasks):
        marks.append(Line2D([], [], color=_FAILED, marker="X", linestyle="none", label="given up"))
    return marks


def _add_episode_axis(axes: Any, data: CurveData) -> None:
    """Adds an axis of episodes above the one of steps.

    It has the ticks of the steps: episodes grow shorter, and ticks of their own would crowd at the end.
    """
    top = axes.secondary_xaxis("top")
    ticks = [at for at in axes.get_xticks() if 0 <= at <= data.end]
    labels = [short(float(f"{data.episodes_at(at):.2g}")) for at in ticks]
    top.set_xticks(ticks, labels)
    top.tick_params(colors=SOFT, length=0, labelsize=7, pad=1)
    top.spines["top"].set_visible(False)


# -- all tasks together


def draw_overview(data: CurveData, folder: Path) -> None:
    """Writes `overview.png` and `overview.svg`: the mean of all tasks and of each level, and when machines were new.

    Args:
        data: The curves of all tasks, which were evaluated at least once.
        folder: The folder of the files.
    """
    levels = data.by_level()
    figure = new_figure(7.4, 3.6 + 0.22 * len(levels))
    axes, strip = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, 0.24 * len(levels)])
    dress(axes)
    axes.set_xlim(0, data.end)
    axes.set_ylim(-0.02, 1.04)
    for level, curves in levels:
        _draw_returns(axes, curves[0].steps, _level_mean(curves), _colour(level), 1.4)
    mean_of_all = np.mean([np.nan_to_num(curve.returns) for curve in data.tasks], axis=0)
    _draw_returns(axes, data.tasks[0].steps, mean_of_all, INK, 2.4)
    for level, at in data.levels:
        axes.axvline(at, color=_colour(level), linewidth=1, linestyle=(0, (4, 2)), zorder=1)
    _add_episode_axis(axes, data)
    axes.tick_params(labelbottom=False, bottom=False, labelsize=8.5)
    axes.set_ylabel("mean greedy return", color=SOFT)
    figure.legend(handles=_level_lines(levels), loc="outside upper center", ncols=3, columnspacing=1.4, **LEGEND)
    _draw_machine_ticks(strip, levels)
    figure.supxlabel("environment steps (below), episodes (above)", fontsize=9.5, color=SOFT)
    save_for_page(figure, folder / "overview")


def _level_mean(curves: Sequence[TaskCurve]) -> Numbers:
    """The mean return of the tasks of a level; after one was given up, that of the others."""
    stacked = np.stack([curve.returns for curve in curves])
    known = ~np.isnan(stacked)
    counts = known.sum(axis=0)
    return np.where(counts > 0, np.where(known, stacked, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan)


def _level_lines(levels: Sequence[tuple[int, Sequence[TaskCurve]]]) -> list[Any]:
    """The entries of the legend: one for all tasks, and one for each level."""
    count = sum(len(curves) for _, curves in levels)
    label = f"mean of {count} tasks" if count > 1 else "the only task"
    lines = [Line2D([], [], color=INK, linewidth=2.4, label=label)]
    for level, curves in levels:
        name = verbatim(curves[0].task.name) if len(curves) == 1 else f"mean of {len(curves)} tasks"
        lines.append(Line2D([], [], color=_colour(level), linewidth=1.4, label=f"level {level}: {name}"))
    return lines


def _draw_machine_ticks(axes: Any, levels: Sequence[tuple[int, Sequence[TaskCurve]]]) -> None:
    """Draws a line for each level, with a tick for each new machine, and a tall tick for the first of a task."""
    for row, (level, curves) in enumerate(levels):
        first = [curve.first for curve in curves if curve.first is not None]
        later = [at for curve in curves for at in curve.later]
        axes.eventplot([later], lineoffsets=row, linelengths=0.4, linewidths=0.9, colors=_colour(level))
        axes.eventplot([first], lineoffsets=row, linelengths=0.85, linewidths=1.6, colors=_colour(level))
        axes.axhline(row, color=RULE, linewidth=0.8, zorder=0)
    axes.set_ylim(len(levels) - 0.4, -0.6)
    axes.set_yticks(range(len(levels)), [f"level {level}" for level, _ in levels])
    axes.tick_params(colors=SOFT, length=0, labelsize=8.5)
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FRAME)
    axes.set_title("machines learned", loc="left", fontsize=8.5, color=SOFT, pad=3)


def _colour(level: int) -> str:
    return COLOURS[(level - 1) % len(COLOURS)]
