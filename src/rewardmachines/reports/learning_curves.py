"""Learning curves of all tasks of a run, with the moments at which machines were learned and levels began."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from rewardmachines.reports.charts import (
    COLOURS,
    FRAME,
    INK,
    RULE,
    SOFT,
    Numbers,
    dress,
    new_figure,
    save_figure,
    short,
    verbatim,
)
from rewardmachines.reports.curve_data import MANY, WINDOW, CurveData, TaskCurve, moving_mean

COLUMNS: Final = 4
"""The largest number of panels side by side."""
_IDLE: Final = "#f1f3f5"
_FAILED: Final = "#c92a2a"
_SUFFIXES: Final = (".png", ".svg")
"""The formats in which every figure is written."""


# -- a panel for each task


def draw_curves(data: CurveData, folder: Path) -> None:
    """Writes `curves.png` and `curves.svg`: a panel for each task, level by level, with a colour for each level.

    Args:
        data: The curves of all tasks, which were evaluated at least once.
        folder: The folder of the files.
    """
    curves = [curve for _, of_level in data.by_level() for curve in of_level]
    columns = min(COLUMNS, ceil(sqrt(len(curves))))
    rows = ceil(len(curves) / columns)
    figure = new_figure(max(2.7 * columns, 4.2) + 0.4, 1.7 * rows + 0.9)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten().tolist()
    for number, (axes, curve) in enumerate(zip(grid, curves, strict=False)):
        _draw_panel(axes, curve, data)
        axes.tick_params(labelbottom=number + columns >= len(curves))
        if number < columns:
            _add_episode_axis(axes, data)
    for axes in grid[len(curves) :]:
        axes.set_axis_off()
    _add_legend(figure, grid[len(curves) :], data)
    figure.supylabel("mean greedy return", fontsize=9.5, color=SOFT)
    figure.supxlabel("environment steps (above the first line: episodes)", fontsize=9.5, color=SOFT)
    _save(figure, folder, "curves")


def _add_legend(figure: Any, free: Sequence[Any], data: CurveData) -> None:
    """Explains the marks in a panel that is free, or else above all panels."""
    style: dict[str, Any] = {"handles": _marks(data), "frameon": False, "fontsize": 8.5, "labelcolor": SOFT}
    if free:
        free[0].legend(loc="center left", **style)
    else:
        figure.legend(loc="outside upper center", ncols=4, **style)


def _draw_panel(axes: Any, curve: TaskCurve, data: CurveData) -> None:
    dress(axes)
    axes.set_xlim(0, data.end)
    axes.set_ylim(-0.04, 1.06)
    axes.set_yticks([0, 0.5, 1])
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.tick_params(labelsize=7.5)
    for begin, end in curve.idle:
        axes.axvspan(begin, end, color=_IDLE, linewidth=0, zorder=0)
    for at in curve.later:
        axes.axvline(at, color=SOFT, linewidth=0.9, linestyle=(0, (1, 1.8)), zorder=1)
    if curve.first is not None:
        axes.axvline(curve.first, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), zorder=1.5)
    _draw_returns(axes, curve.steps, curve.returns, _colour(curve.task.level))
    if curve.given_up is not None:
        axes.plot([curve.given_up], [0.5], marker="X", markersize=8, color=_FAILED, linestyle="none", clip_on=False)
    axes.set_title(verbatim(curve.task.name), loc="left", fontsize=9.5, fontweight="bold", color=INK, pad=4)
    axes.set_title(_panel_note(curve), loc="right", fontsize=7.5, color=_colour(curve.task.level), pad=4)


def _panel_note(curve: TaskCurve) -> str:
    """The level of the task and the number of its machines, for the corner of its panel."""
    count = f"{curve.machines} machine{'' if curve.machines == 1 else 's'}" if curve.machines else "no machine"
    return f"level {curve.task.level} · {count if curve.given_up is None else 'given up'}"


def _draw_returns(axes: Any, steps: Numbers, returns: Numbers, colour: str, **style: Any) -> None:
    """Draws evaluations; of many, the moving mean in front of them. A single point is drawn as a dot, to be visible."""
    style = {"linewidth": 1.7, "zorder": 3, **style}
    if len(returns) > MANY:
        axes.plot(steps, returns, color=colour, linewidth=0.6, alpha=0.25, zorder=2)
        returns = moving_mean(returns, WINDOW)
    marker = "o" if np.isfinite(returns).sum() == 1 else None
    axes.plot(steps, returns, color=colour, marker=marker, markersize=4, solid_capstyle="round", **style)


def _marks(data: CurveData) -> list[Any]:
    """The entries of the legend: one for each kind of mark that occurs in the curves."""
    marks: list[Any] = []
    if any(curve.first is not None for curve in data.tasks):
        marks.append(Line2D([], [], color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="first machine"))
    if any(curve.later for curve in data.tasks):
        marks.append(Line2D([], [], color=SOFT, linewidth=1.1, linestyle=(0, (1, 1.8)), label="machine learned again"))
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
        _draw_returns(axes, curves[0].steps, _level_mean(curves), _colour(level), linewidth=1.4)
    mean_of_all = np.mean([np.nan_to_num(curve.returns) for curve in data.tasks], axis=0)
    _draw_returns(axes, data.tasks[0].steps, mean_of_all, INK, linewidth=2.4)
    for level, at in data.levels:
        axes.axvline(at, color=_colour(level), linewidth=1, linestyle=(0, (4, 2)), zorder=1)
    _add_episode_axis(axes, data)
    axes.tick_params(labelbottom=False, bottom=False, labelsize=8.5)
    axes.set_ylabel("mean greedy return", color=SOFT)
    style: dict[str, Any] = {"frameon": False, "fontsize": 8.5, "labelcolor": SOFT, "columnspacing": 1.4}
    figure.legend(handles=_level_lines(levels), loc="outside upper center", ncols=3, **style)
    _draw_machine_ticks(strip, levels)
    figure.supxlabel("environment steps (below), episodes (above)", fontsize=9.5, color=SOFT)
    _save(figure, folder, "overview")


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
    all_tasks = [Line2D([], [], color=INK, linewidth=2.4, label=label)]
    return all_tasks + [
        Line2D([], [], color=_colour(level), linewidth=1.4, label=f"level {level}: {_named(curves)}")
        for level, curves in levels
    ]


def _named(curves: Sequence[TaskCurve]) -> str:
    """The only task of a level by its name, or else how many tasks there are."""
    return verbatim(curves[0].task.name) if len(curves) == 1 else f"mean of {len(curves)} tasks"


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


def _save(figure: Any, folder: Path, name: str) -> None:
    for suffix in _SUFFIXES:
        save_figure(figure, folder / f"{name}{suffix}", suits_both=True)
