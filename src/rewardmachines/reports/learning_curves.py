"""Learning curves of all tasks, with the moments at which machines were learned and levels began."""

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
from rewardmachines.reports.curve_data import CurveData, TaskCurve, moving_mean

COLUMNS: Final = 4
"""Panels side by side, at most."""
MANY: Final = 120
"""Evaluations; with more, the curve is their moving mean."""
_WINDOW: Final = 20
"""Evaluations in a moving mean, as in the paper."""
_IDLE: Final = "#f1f3f5"
_FAILED: Final = "#c92a2a"
_FORMS: Final = (".png", ".svg")


# -- a panel for each task


def draw_curves(found: CurveData, folder: Path) -> None:
    """Writes `curves.png` and `curves.svg`: level by level, in their colours."""
    curves = [curve for _, mine in found.by_level() for curve in mine]
    columns = min(COLUMNS, ceil(sqrt(len(curves))))
    lines = ceil(len(curves) / columns)
    figure = new_figure(max(2.7 * columns, 4.2) + 0.4, 1.7 * lines + 0.9)
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).flatten().tolist()
    for number, (axes, curve) in enumerate(zip(grid, curves, strict=False)):
        _panel(axes, curve, found)
        axes.tick_params(labelbottom=number + columns >= len(curves))
        if number < columns:
            _episodes_on_top(axes, found)
    for axes in grid[len(curves) :]:
        axes.set_axis_off()
    _explain(figure, grid[len(curves) :], found)
    figure.supylabel("greedy return, mean over instances", fontsize=9.5, color=SOFT)
    figure.supxlabel("environment steps (above the first line: episodes)", fontsize=9.5, color=SOFT)
    _save(figure, folder, "curves")


def _explain(figure: Any, free: Sequence[Any], found: CurveData) -> None:
    """What marks mean: where there is room, or else on top."""
    style: dict[str, Any] = {"handles": _legend(found), "frameon": False, "fontsize": 8.5, "labelcolor": SOFT}
    if free:
        free[0].legend(loc="center left", **style)
    else:
        figure.legend(loc="outside upper center", ncols=4, **style)


def _panel(axes: Any, curve: TaskCurve, found: CurveData) -> None:
    dress(axes)
    axes.set_xlim(0, found.end)
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
    axes.set_title(_counted(curve), loc="right", fontsize=7.5, color=_colour(curve.task.level), pad=4)


def _counted(curve: TaskCurve) -> str:
    what = f"{curve.machines} machine{'' if curve.machines == 1 else 's'}" if curve.machines else "no machine"
    return f"level {curve.task.level} · {what if curve.given_up is None else 'given up'}"


def _draw_returns(axes: Any, steps: Numbers, returns: Numbers, colour: str, **style: Any) -> None:
    """Of many evaluations the moving mean, with themselves behind it. A single point is a dot, or nobody would see."""
    style = {"linewidth": 1.7, "zorder": 3, **style}
    if len(returns) > MANY:
        axes.plot(steps, returns, color=colour, linewidth=0.6, alpha=0.25, zorder=2)
        returns = moving_mean(returns, _WINDOW)
    marker = "o" if np.isfinite(returns).sum() == 1 else None
    axes.plot(steps, returns, color=colour, marker=marker, markersize=4, solid_capstyle="round", **style)


def _legend(found: CurveData) -> list[Any]:
    """What the marks mean, as far as there are any."""
    marks: list[Any] = []
    if any(curve.first is not None for curve in found.tasks):
        marks.append(Line2D([], [], color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="first machine"))
    if any(curve.later for curve in found.tasks):
        marks.append(Line2D([], [], color=SOFT, linewidth=1.1, linestyle=(0, (1, 1.8)), label="machine learned again"))
    if any(curve.idle for curve in found.tasks):
        marks.append(Patch(facecolor=_IDLE, edgecolor=FRAME, linewidth=0.6, label="level not active"))
    if any(curve.given_up is not None for curve in found.tasks):
        marks.append(Line2D([], [], color=_FAILED, marker="X", linestyle="none", label="given up"))
    return marks


def _episodes_on_top(axes: Any, found: CurveData) -> None:
    """The ticks are those of the steps: episodes grow shorter, and ticks of their own would crowd at the end."""
    top = axes.secondary_xaxis("top")
    ticks = [at for at in axes.get_xticks() if 0 <= at <= found.end]
    labels = [short(float(f"{found.episodes_at(at):.2g}")) for at in ticks]
    top.set_xticks(ticks, labels)
    top.tick_params(colors=SOFT, length=0, labelsize=7, pad=1)
    top.spines["top"].set_visible(False)


# -- all tasks together


def draw_overview(found: CurveData, folder: Path) -> None:
    """Writes `overview.png` and `overview.svg`."""
    levels = found.by_level()
    figure = new_figure(7.4, 3.6 + 0.22 * len(levels))
    axes, strip = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, 0.24 * len(levels)])
    dress(axes)
    axes.set_xlim(0, found.end)
    axes.set_ylim(-0.02, 1.04)
    for level, mine in levels:
        _draw_returns(axes, mine[0].steps, _together(mine), _colour(level), linewidth=1.4)
    everything = np.mean([np.nan_to_num(curve.returns) for curve in found.tasks], axis=0)
    _draw_returns(axes, found.tasks[0].steps, everything, INK, linewidth=2.4)
    for level, at in found.levels:
        axes.axvline(at, color=_colour(level), linewidth=1, linestyle=(0, (4, 2)), zorder=1)
    _episodes_on_top(axes, found)
    axes.tick_params(labelbottom=False, bottom=False, labelsize=8.5)
    axes.set_ylabel("mean greedy return", color=SOFT)
    style: dict[str, Any] = {"frameon": False, "fontsize": 8.5, "labelcolor": SOFT, "columnspacing": 1.4}
    figure.legend(handles=_lines(levels), loc="outside upper center", ncols=5, **style)
    _machines_learned(strip, levels)
    figure.supxlabel("environment steps (below), episodes (above)", fontsize=9.5, color=SOFT)
    _save(figure, folder, "overview")


def _together(curves: Sequence[TaskCurve]) -> Numbers:
    """The mean of tasks; where one was given up, that of the others."""
    stacked = np.stack([curve.returns for curve in curves])
    known = ~np.isnan(stacked)
    counts = known.sum(axis=0)
    return np.where(counts > 0, np.where(known, stacked, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan)


def _lines(levels: Sequence[tuple[int, Sequence[TaskCurve]]]) -> list[Any]:
    every = [Line2D([], [], color=INK, linewidth=2.4, label="all tasks")]
    return every + [
        Line2D([], [], color=_colour(level), linewidth=1.4, label=f"level {level}: {_named(mine)}")
        for level, mine in levels
    ]


def _named(curves: Sequence[TaskCurve]) -> str:
    return verbatim(curves[0].task.name) if len(curves) == 1 else f"{len(curves)} tasks"


def _machines_learned(axes: Any, levels: Sequence[tuple[int, Sequence[TaskCurve]]]) -> None:
    """A tick for each new machine, a tall one for the first of a task; a line for each level."""
    for row, (level, mine) in enumerate(levels):
        first = [curve.first for curve in mine if curve.first is not None]
        later = [at for curve in mine for at in curve.later]
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
    for form in _FORMS:
        save_figure(figure, folder / f"{name}{form}")
