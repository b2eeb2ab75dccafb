"""Learning curves of one or more runs, drawn: a panel for each task or all tasks as one, and what is a mean of what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.records import flat
from rewardmachines.reports.charts import (
    COLOURS,
    INK,
    SOFT,
    Background,
    Numbers,
    dress,
    moving_mean,
    new_figure,
    panels,
    save_figure,
    verbatim,
)
from rewardmachines.reports.summary import evaluated_in
from rewardmachines.runs.run import Run

Axis: TypeAlias = Literal["steps", "episodes", "seconds"]
"""The quantity on the horizontal axis."""

_FIRST: Final = ("domain.domain", "domain.setting", "tasks", "agent", "learner")
"""The settings that curves are named after first, wherever runs differ in them."""
_NOT_SETTINGS: Final = ("seed", "domain.instance_seed", "stop_at")
"""The fields of a config that never name a curve: seeds may have instances of their own. Nor does the budget."""
_GIVEN: Final = "hierarchies"
"""The name of the hierarchies that are given, among the settings."""
_NAMED_TASKS: Final = 3
"""The largest number of tasks that are named one by one; more are counted."""
_RESAMPLES: Final = 1000
"""The number of bootstrap samples that a confidence interval is computed from."""
_POINTS: Final = 500
"""The largest number of points of a curve."""


@dataclass(frozen=True)
class Curve:
    """The mean return over seeds, with its bootstrap confidence interval of 95 %."""

    name: str
    """The settings that distinguish its runs from those of the other curves."""
    tasks: tuple[str, ...]
    """The tasks that the mean is taken over."""
    x: Numbers
    """The positions of the points on the horizontal axis."""
    mean: Numbers
    """The mean return over seeds at each position."""
    low: Numbers
    """The lower end of the confidence interval at each position."""
    high: Numbers
    """The upper end of the confidence interval at each position."""
    seeds: int
    """The number of seeds that the mean is taken over."""
    evaluated_in: str
    """The instances of each evaluation of a task, or its episodes, in words."""


def curves(runs: Sequence[Run], axis: Axis, *, over_tasks: bool = False, window: int = 1) -> list[Curve]:
    """The curves of runs. Runs that differ in nothing but their seeds make one curve for each task.

    Args:
        runs: The runs, at least one.
        axis: The quantity on the horizontal axis.
        over_tasks: Whether all tasks of a run make one curve, their mean.
        window: The number of evaluations in the moving mean of a seed; 1 for the evaluations themselves.

    Raises:
        RewardMachineError: A run has not been evaluated yet, or its file of times is incomplete.
    """
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(repr(settings_of(run)), []).append(run)
    members = list(groups.values())
    names = _names([group[0] for group in members])
    made: list[Curve] = []
    for name, group in zip(names, members, strict=True):
        first, evaluations = group[0], [_evaluations(run, axis) for run in group]
        numbers = range(len(first.tasks))
        for mine in [list(numbers)] if over_tasks else [[number] for number in numbers]:
            tasks = tuple(first.tasks[number] for number in mine)
            lines = [(x, moving_mean(returns[:, mine].mean(axis=(1, 2)), window)) for x, returns in evaluations]
            made.append(Curve(name, tasks, *_mean_line(lines), len(group), evaluated_in(first.config)))
    return made


def settings_of(run: Run) -> dict[str, Any]:
    """The settings that a run shares with all other runs of its curve, by their full names."""
    found = {
        name: value
        for name, value in flat(run.config).items()
        if name not in _NOT_SETTINGS and not name.startswith("budget")
    }
    return found | {_GIVEN: run.given_hierarchies}


def named_tasks(tasks: Sequence[str]) -> str:
    """The names of tasks, or the number of many."""
    return ", ".join(tasks) if len(tasks) <= _NAMED_TASKS else f"{len(tasks)} tasks"


def _names(runs: Sequence[Run]) -> list[str]:
    """Names runs by as few settings as distinguish them; by their folders, if no settings do."""
    folders = [run.folder.name for run in runs]
    if len({(run.config.learns_machines, run.config.gym is None) for run in runs}) > 1:
        return folders  # they differ in what settings they have
    settings = [settings_of(run) for run in runs]
    differing = [name for name in settings[0] if len({repr(s.get(name)) for s in settings}) > 1 and name != _GIVEN]
    chosen: list[str] = []
    for name in sorted(differing, key=lambda name: name not in _FIRST):
        if len({repr([s.get(n) for n in chosen]) for s in settings}) == len(runs) and name not in _FIRST:
            break
        chosen.append(name)
    names = [", ".join(_named(name, s.get(name)) for name in chosen) for s in settings]
    return names if len(set(names)) == len(names) else folders


def _named(name: str, value: Any) -> str:
    """A setting and its value in words."""
    if name in _FIRST:
        return named_tasks(value) if name == "tasks" else str(value)
    return f"{name.removeprefix('settings.').removeprefix('agent.').replace('_', ' ')} {value}"


def _mean_line(lines: Sequence[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """The mean of the lines of all seeds, which were evaluated at different positions of the axis.

    Args:
        lines: The positions of each seed, and its returns there.

    Returns:
        Positions, the mean there, and the lower and the upper end of its confidence interval.
    """
    begin, end = max(x[0] for x, _ in lines), max(x[-1] for x, _ in lines)
    evaluated_at = np.unique(np.concatenate([x for x, _ in lines]))
    evaluated_at = evaluated_at[evaluated_at >= begin]
    points = evaluated_at if len(evaluated_at) <= _POINTS else np.linspace(begin, end, _POINTS)
    values = np.stack([np.interp(points, x, y) for x, y in lines])  # [S, X]; a seed that has ended keeps its return
    resampled = np.random.default_rng(0).integers(len(values), size=(_RESAMPLES, len(values)))
    low, high = np.percentile(values[resampled].mean(axis=1), [2.5, 97.5], axis=0)
    return points, values.mean(axis=0), low, high


def _evaluations(run: Run, axis: Axis) -> tuple[Numbers, Numbers]:
    """The positions of the evaluations of a run on the axis, and their returns by evaluation, task and instance."""
    rows = [row for row in run.rows if row.returns is not None]
    if not rows:
        raise RewardMachineError(f"{run.folder}: there is nothing to plot yet: no evaluation so far")
    returns = np.array([row.returns for row in rows], float)
    if axis != "seconds":
        return np.array([float(getattr(row, axis)) for row in rows]), returns
    seconds = {moment.steps: moment.seconds for moment in run.timing}
    if any(row.steps not in seconds for row in rows):
        raise RewardMachineError(f"{run.folder}: timing.jsonl does not say when each evaluation was")
    return np.array([seconds[row.steps] for row in rows]), returns


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
        background: The background of the curves.

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
