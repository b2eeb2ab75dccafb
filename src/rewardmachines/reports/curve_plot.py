"""Learning curves of one or more runs, drawn: a panel for each task or all tasks as one, and what is a mean of what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.reports.charts import (
    COLOURS,
    INK,
    SOFT,
    Background,
    dress,
    new_figure,
    panels,
    save_figure,
    verbatim,
)
from rewardmachines.reports.run_curves import Axis, Curve, curves, named_tasks
from rewardmachines.runs.run import Run

_TITLES: Final = {"steps": "environment steps", "episodes": "episodes", "seconds": "seconds"}
_LETTERS_PER_INCH: Final = 17
"""About how many letters of the caption an inch holds."""


def plot_curves(
    runs: Sequence[Run],
    axis: Axis,
    path: Path,
    *,
    over_tasks: bool = False,
    window: int = 1,
    background: Background = Background.WHITE,
) -> None:
    """Draws the learning curves of runs and writes them to a file.

    Args:
        runs: The runs, at least one.
        axis: The quantity on the horizontal axis.
        path: The file; its suffix says whether it is a PNG, an SVG or a PDF.
        over_tasks: Whether all tasks of a run are one curve, their mean.
        window: The number of evaluations in a moving mean; 1 for the evaluations themselves.
        background: What is behind the curves.

    Raises:
        RewardMachineError: There is nothing to plot yet, the window is empty, or the format is none of these.
    """
    save_figure(curves_figure(runs, axis, over_tasks=over_tasks, window=window), path, background=background)


def curves_figure(runs: Sequence[Run], axis: Axis, *, over_tasks: bool = False, window: int = 1) -> Any:
    """Draws the learning curves of runs. The caption says what they are the mean of.

    Runs that learned several tasks get a panel for each of them, unless the mean of all is asked for. Arguments and
    errors as for `plot_curves`.
    """
    if window < 1:
        raise RewardMachineError(f"a moving mean is taken over at least 1 evaluation, not {window}")
    drawn = curves(runs, axis, over_tasks=over_tasks, window=window)
    # The order of tasks is that of the run with most of them.
    by_breadth = sorted(runs, key=lambda run: -len(run.tasks))
    tasks = list(dict.fromkeys(task for run in by_breadth for task in run.tasks))
    has_panels = not over_tasks and any(len(run.tasks) > 1 for run in runs)
    figure = _panels(drawn, tasks, axis) if has_panels else _single(drawn, axis)
    title = _title(runs, over_tasks=over_tasks)
    figure.suptitle(verbatim(title), x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    letters = round(figure.get_figwidth() * _LETTERS_PER_INCH)
    caption = fill(caption_of(drawn, window), letters)
    figure.supxlabel(verbatim(caption), x=0.01, ha="left", fontsize=8, color=SOFT, linespacing=1.35)
    return figure


def caption_of(drawn: Sequence[Curve], window: int) -> str:
    """The quantity that every point of the curves shows, in words.

    Args:
        drawn: The curves.
        window: The number of evaluations in their moving means.
    """
    seeds, tasks = {curve.seeds for curve in drawn}, {len(curve.tasks) for curve in drawn}
    over = [" or ".join(dict.fromkeys(curve.evaluated_in for curve in drawn))]
    if max(tasks) > 1:
        over.append(f"{_range(tasks, 'task')} (one without a machine counts as 0)")
    if max(seeds) > 1:
        over.append(_range(seeds, "seed"))
    sentences = [f"Greedy return: mean of {' × '.join(over)}{', one seed' if max(seeds) == 1 else ''}."]
    sentences.append(
        "Every evaluation is shown as it is." if window == 1 else f"Moving mean of the last {window} evaluations."
    )
    if max(seeds) > 1:
        sentences.append("Band: 95 % bootstrap confidence interval of the mean over seeds.")
    return " ".join(sentences)


def _range(numbers: Iterable[int], noun: str) -> str:
    """Writes how many there are, from the fewest to the most.

    >>> _range({1}, "seed"), _range({3, 10}, "task")
    ('1 seed', '3 to 10 tasks')
    """
    low, high = min(numbers), max(numbers)
    count = str(high) if low == high else f"{low} to {high}"
    return f"{count} {noun}{'' if high == 1 else 's'}"


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
    """A panel for each task, with the same colour for the same runs in all of them."""
    names = list(dict.fromkeys(curve.name for curve in drawn))
    made = panels(tasks, around=1.3)
    handles: dict[str, Any] = {}
    for axes, task in zip(made.axes, tasks, strict=True):
        for curve in drawn:
            if curve.tasks == (task,):
                label, colour = _label(curve, drawn), COLOURS[names.index(curve.name) % len(COLOURS)]
                handles[label] = _draw_curve(axes, curve, colour, label)
        axes.set_xlim(left=0)
    for axes in made.axes[-made.columns :]:  # the lowest of each column
        axes.set_xlabel(_TITLES[axis], color=SOFT, fontsize=8.5)
    if len(names) > 1:
        made.add_legend(list(handles.values()), has_title=True)
    return made.figure


def _draw_curve(axes: Any, curve: Curve, colour: str, label: str) -> Any:
    """Draws a curve and its band, and returns the line."""
    if curve.seeds > 1:
        axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
    marker = "o" if len(curve.x) == 1 else None  # a line of one point would be invisible
    return axes.plot(curve.x, curve.mean, color=colour, linewidth=1.8, marker=marker, label=label)[0]


def _label(curve: Curve, drawn: Sequence[Curve]) -> str:
    """The name of a curve in the legend, and what it is the mean of wherever curves differ in that."""
    parts = [curve.name]
    if len({other.tasks for other in drawn if len(other.tasks) > 1}) > 1 or (
        len(curve.tasks) > 1 and len({len(other.tasks) for other in drawn}) > 1
    ):
        parts.append(f"mean of {len(curve.tasks)} tasks")
    if max(other.seeds for other in drawn) > 1:
        parts.append(_range([curve.seeds], "seed"))
    return verbatim(", ".join(part for part in parts if part))


def _title(runs: Sequence[Run], *, over_tasks: bool) -> str:
    """The domain, the tasks and the algorithm, as far as all runs have them in common."""

    def tasks(run: Run) -> str:
        return f"mean of {len(run.tasks)} tasks" if over_tasks and len(run.tasks) > 1 else named_tasks(run.tasks)

    parts = ({run.config.place.title for run in runs}, {tasks(run) for run in runs}, {r.config.algorithm for r in runs})
    return " · ".join(part.pop() for part in parts if len(part) == 1) or "greedy return"
