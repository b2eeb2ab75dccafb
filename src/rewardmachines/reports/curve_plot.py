"""Learning curves of one or more runs, drawn: a panel for each task or all tasks as one, and what is a mean of what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, sqrt
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from matplotlib.ticker import MaxNLocator

from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.reports.any_run import AnyRun
from rewardmachines.reports.charts import (
    COLOURS,
    INK,
    SOFT,
    Background,
    dress,
    new_figure,
    save_figure,
    verbatim,
)
from rewardmachines.reports.results_table import scenario_title
from rewardmachines.reports.run_curves import Axis, Curve, curves, tasks_of
from rewardmachines.reports.summary import title_of

COLUMNS: Final = 4
"""The largest number of panels side by side."""
_TITLES: Final = {"steps": "environment steps", "episodes": "episodes", "seconds": "seconds"}
_NAMED_TASKS: Final = 3
"""So many tasks are named in a title; more are counted."""
_LETTERS_PER_INCH: Final = 17
"""About how many letters of the caption an inch holds."""


def plot_curves(
    runs: Sequence[AnyRun],
    axis: Axis,
    path: Path,
    *,
    over_tasks: bool = False,
    window: int = 1,
    background: Background = Background.WHITE,
    suits_both: bool = False,
) -> None:
    """Draws the learning curves of runs and writes them to a file. The caption says what they are the mean of.

    Runs that learned several tasks get a panel for each of them, unless the mean of all is asked for.

    Args:
        runs: The runs, at least one.
        axis: The quantity on the horizontal axis.
        path: The file; its suffix says whether it is a PNG, an SVG or a PDF.
        over_tasks: Whether all tasks of a run are one curve, their mean.
        window: The number of evaluations in a moving mean; 1 for the evaluations themselves.
        background: What is behind the curves.
        suits_both: Whether an SVG has other colours where people prefer dark pages.

    Raises:
        RewardMachineError: There is nothing to plot yet, the window is empty, or the format is none of these.
    """
    if window < 1:
        raise RewardMachineError(f"a moving mean is taken over at least 1 evaluation, not {window}")
    drawn = curves(runs, axis, over_tasks=over_tasks, window=window)
    tasks = list(dict.fromkeys(task for run in sorted(runs, key=_breadth) for task in tasks_of(run)))
    has_panels = not over_tasks and any(len(tasks_of(run)) > 1 for run in runs)
    figure = _panels(drawn, tasks, axis) if has_panels else _single(drawn, axis)
    title = _title(runs, over_tasks=over_tasks)
    figure.suptitle(verbatim(title), x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    letters = round(figure.get_figwidth() * _LETTERS_PER_INCH)
    caption = fill(caption_of(drawn, window), letters)
    figure.supxlabel(verbatim(caption), x=0.01, ha="left", fontsize=8, color=SOFT, linespacing=1.35)
    save_figure(figure, path, background=background, suits_both=suits_both)


def caption_of(drawn: Sequence[Curve], window: int) -> str:
    """What every point of the curves is the mean of, in words.

    Args:
        drawn: The curves.
        window: The number of evaluations in their moving means.
    """
    seeds, instances = {curve.seeds for curve in drawn}, {curve.instances for curve in drawn}
    tasks = {len(curve.tasks) for curve in drawn}
    over = [_counted(instances, "instance")]
    if max(tasks) > 1:
        over.append(f"{_counted(tasks, 'task')} (one without a machine counts as 0)")
    if max(seeds) > 1:
        over.append(_counted(seeds, "seed"))
    sentences = [f"Greedy return: mean of {' × '.join(over)}{', one seed' if max(seeds) == 1 else ''}."]
    sentences.append(
        "Every evaluation is shown as it is." if window == 1 else f"Moving mean of the last {window} evaluations."
    )
    if max(seeds) > 1:
        sentences.append("Band: 95 % bootstrap confidence interval of the mean over seeds.")
    return " ".join(sentences)


def _counted(numbers: Iterable[int], noun: str) -> str:
    """Writes how many there are, from the fewest to the most.

    >>> _counted({1}, "seed"), _counted({3, 10}, "instance")
    ('1 seed', '3 to 10 instances')
    """
    low, high = min(numbers), max(numbers)
    count = str(high) if low == high else f"{low} to {high}"
    return f"{count} {noun}{'' if high == 1 else 's'}"


# -- figures


def _single(drawn: Sequence[Curve], axis: Axis) -> Any:
    """All curves in one coordinate system."""
    figure = new_figure(7.2, 4.4)
    axes = figure.add_subplot()
    for number, curve in enumerate(drawn):
        _draw_curve(axes, curve, COLOURS[number % len(COLOURS)], _label(curve, drawn))
    dress(axes)
    axes.set_xlabel(_TITLES[axis], color=SOFT)
    axes.set_ylabel("mean greedy return", color=SOFT)
    axes.set_xlim(left=0)
    if len(drawn) > 1:
        axes.legend(frameon=False, loc="best", labelcolor=SOFT)
    return figure


def _panels(drawn: Sequence[Curve], tasks: Sequence[str], axis: Axis) -> Any:
    """A coordinate system for each task, with the same colour for the same runs in all of them."""
    columns = len(tasks) if len(tasks) < COLUMNS else min(COLUMNS, ceil(sqrt(len(tasks))))
    rows = ceil(len(tasks) / columns)
    names = list(dict.fromkeys(curve.name for curve in drawn))
    figure = new_figure(max(2.5 * columns, 5.0) + 0.4, 1.75 * rows + 1.3)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten().tolist()
    for number, (axes, task) in enumerate(zip(grid, tasks, strict=False)):
        mine = [curve for curve in drawn if curve.tasks == (task,)]
        for curve in mine:
            _draw_curve(axes, curve, COLOURS[names.index(curve.name) % len(COLOURS)], _label(curve, drawn))
        dress(axes)
        axes.set_xlim(left=0)
        axes.set_yticks([0, 0.5, 1])
        axes.xaxis.set_major_locator(MaxNLocator(4))
        is_last = number + columns >= len(tasks)
        axes.tick_params(labelsize=7.5, labelbottom=is_last)
        axes.set_title(verbatim(task), loc="left", fontsize=9.5, fontweight="bold", color=INK, pad=4)
        if number // columns == rows - 1:
            axes.set_xlabel(_TITLES[axis], color=SOFT, fontsize=8.5)
    for axes in grid[len(tasks) :]:
        axes.set_axis_off()
    figure.supylabel("mean greedy return", fontsize=9.5, color=SOFT)
    if len(names) > 1:
        _add_legend(figure, grid, len(tasks))
    return figure


def _add_legend(figure: Any, grid: Sequence[Any], tasks: int) -> None:
    """Names the runs once, in a panel that is free, or else above all panels."""
    labelled = {label: handle for axes in grid for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    style: dict[str, Any] = {"frameon": False, "fontsize": 8.5, "labelcolor": SOFT}
    handles, labels = list(labelled.values()), list(labelled)
    if tasks < len(grid):
        grid[tasks].legend(handles, labels, loc="center left", **style)
    else:
        figure.legend(handles, labels, loc="outside upper right", ncols=2, **style)


def _draw_curve(axes: Any, curve: Curve, colour: str, label: str) -> None:
    if curve.seeds > 1:
        axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
    marker = "o" if len(curve.x) == 1 else None  # a line of one point would be invisible
    axes.plot(curve.x, curve.mean, color=colour, linewidth=1.8, marker=marker, label=label)


def _label(curve: Curve, drawn: Sequence[Curve]) -> str:
    """The name of a curve in the legend, and what it is the mean of wherever curves differ in that."""
    parts = [curve.name]
    if len({other.tasks for other in drawn if len(other.tasks) > 1}) > 1 or (
        len(curve.tasks) > 1 and len({len(other.tasks) for other in drawn}) > 1
    ):
        parts.append(f"mean of {len(curve.tasks)} tasks")
    if max(other.seeds for other in drawn) > 1:
        parts.append(_counted([curve.seeds], "seed"))
    return verbatim(", ".join(part for part in parts if part))


# -- titles


def _title(runs: Sequence[AnyRun], *, over_tasks: bool) -> str:
    """The domain, the tasks and the algorithm, as far as all runs have them in common."""
    trained = (TrainRun, TrainGymnasiumRun)
    scenarios = {subject(run) for run in runs}
    tasks = {_tasks(tasks_of(run), over_tasks=over_tasks) for run in runs}
    algorithms = {run.spec.algorithm.value if isinstance(run, trained) else "LHRM" for run in runs}
    parts = [scenarios, tasks, algorithms]
    return " · ".join(part.pop() for part in parts if len(part) == 1) or "greedy return"


def _tasks(names: Sequence[str], *, over_tasks: bool) -> str:
    if len(names) == 1:
        return names[0]
    if over_tasks:
        return f"mean of {len(names)} tasks"
    return ", ".join(names) if len(names) <= _NAMED_TASKS else f"{len(names)} tasks"


def _breadth(run: AnyRun) -> int:
    """Sorts runs so that the order of tasks is that of the run with most of them."""
    return -len(tasks_of(run))


def subject(run: AnyRun) -> str:
    """Where a run takes place, for people."""
    if isinstance(run, TrainRun):
        return scenario_title(run.spec.domain, run.spec.setting)
    if isinstance(run, TrainGymnasiumRun):
        return run.spec.env or "a Gymnasium environment"
    return title_of(run)
