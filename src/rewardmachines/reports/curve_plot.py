"""Learning curves of one or more runs: the mean greedy return over seeds, with its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.stored_run import StoredRun
from rewardmachines.reports.any_run import AnyRun
from rewardmachines.reports.charts import COLOURS, INK, SOFT, Numbers, dress, new_figure, save_figure
from rewardmachines.reports.results_table import scenario_title
from rewardmachines.reports.summary import title_of
from rewardmachines.runs.config_file import flat

Axis: TypeAlias = Literal["steps", "episodes", "seconds"]
"""The quantity on the horizontal axis."""

_TITLES: Final = {"steps": "environment steps", "episodes": "episodes", "seconds": "seconds"}
_FIRST: Final = ("domain", "setting", "task", "algorithm")
"""The settings that curves are named after first, wherever runs differ in them."""
_NOT_SETTINGS: Final = ("seed", "seeds")
"""The fields of a spec that do not tell curves apart."""
_RESAMPLES: Final = 1000
"""The number of bootstrap samples that a confidence interval is computed from."""
_POINTS: Final = 500
"""The largest number of points of a curve."""


@dataclass(frozen=True)
class Curve:
    """The mean return over seeds, with its bootstrap confidence interval of 95 %."""

    name: str
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


def curves(runs: Sequence[AnyRun], axis: Axis) -> list[Curve]:
    """The curves of runs. Runs that differ in nothing but their seeds make one curve.

    Args:
        runs: The runs, at least one.
        axis: The quantity on the horizontal axis.

    Raises:
        RewardMachineError: A run has not been evaluated yet, or its file of times is incomplete.
    """
    groups: dict[str, list[AnyRun]] = {}
    for run in runs:
        tree = run.hierarchy if isinstance(run, (TrainRun, TrainGymnasiumRun)) else None
        groups.setdefault(repr((_settings(run), tree)), []).append(run)
    members = list(groups.values())
    names = _names([group[0] for group in members])
    return [_curve(name, group, axis) for name, group in zip(names, members, strict=True)]


def _settings(run: AnyRun) -> dict[str, Any]:
    """The settings that a run shares with all other runs of its curve, by their full names."""
    return {name: value for name, value in flat(run.spec).items() if name not in _NOT_SETTINGS}


def _names(runs: Sequence[AnyRun]) -> list[str]:
    """Names runs by as few settings as tell them apart; by their folders, if no settings do."""
    settings = [_settings(run) for run in runs]
    if len({type(run) for run in runs}) > 1:  # they differ in what settings they have
        return [run.folder.name for run in runs]
    differing = [name for name in settings[0] if len({repr(s.get(name)) for s in settings}) > 1]
    chosen: list[str] = []
    for name in sorted(differing, key=lambda name: name not in _FIRST):
        if len({repr([s[n] for n in chosen]) for s in settings}) == len(runs) and name not in _FIRST:
            break
        chosen.append(name)
    names = [", ".join(_named(name, s[name]) for name in chosen) for s in settings]
    return names if len(set(names)) == len(names) else [run.folder.name for run in runs]


def _named(name: str, value: Any) -> str:
    """A setting and its value in words."""
    plain = name.removeprefix("config.").removeprefix("agent.").replace("_", " ")
    return str(value) if name in _FIRST else f"{plain} {value}"


def _curve(name: str, runs: Sequence[AnyRun], axis: Axis) -> Curve:
    """The mean of the curves of all seeds, which were evaluated at different positions of the axis."""
    lines = [line for run in runs for line in _lines(run, axis)]
    begin, end = max(x[0] for x, _ in lines), max(x[-1] for x, _ in lines)
    evaluated_at = np.unique(np.concatenate([x for x, _ in lines]))
    evaluated_at = evaluated_at[evaluated_at >= begin]
    points = evaluated_at if len(evaluated_at) <= _POINTS else np.linspace(begin, end, _POINTS)
    values = np.stack([np.interp(points, x, y) for x, y in lines])  # [S, X]; a seed that has ended keeps its return
    generator = np.random.default_rng(0)
    resampled = generator.integers(len(values), size=(_RESAMPLES, len(values)))
    low, high = np.percentile(values[resampled].mean(axis=1), [2.5, 97.5], axis=0)
    return Curve(name=name, x=points, mean=values.mean(axis=0), low=low, high=high, seeds=len(values))


def _lines(run: AnyRun, axis: Axis) -> list[tuple[Numbers, Numbers]]:
    """For each seed of a run, the positions on the axis at which it was evaluated, and its mean returns there."""
    rows = [row for row in run.rows() if row.mean_return is not None]
    if not rows:
        raise RewardMachineError(f"{run.folder}: there is nothing to plot yet: no evaluation so far")
    seconds = _seconds(run) if axis == "seconds" else {}
    if axis == "seconds" and any(row.chunk not in seconds for row in rows):
        raise RewardMachineError(f"{run.folder}: timing.jsonl does not tell when each evaluation was")
    by_seed: dict[int, list[Any]] = {}
    for row in rows:
        by_seed.setdefault(row.seed if isinstance(row, Row) else run.spec.seed, []).append(row)
    return [
        (
            np.array([seconds[row.chunk] if axis == "seconds" else float(getattr(row, axis)) for row in evaluations]),
            np.array([row.mean_return for row in evaluations], float),
        )
        for evaluations in by_seed.values()
    ]


def _seconds(run: AnyRun) -> dict[int, float]:
    """The seconds after which each chunk was done. A moment is found by the steps of the seed that had taken most."""
    known = {moment.steps: moment.seconds for moment in run.moments()}
    steps: dict[int, int] = {}
    for row in run.rows():
        steps[row.chunk] = max(row.steps, steps.get(row.chunk, 0))
    return {chunk: known[most] for chunk, most in steps.items() if most in known}


def plot_curves(runs: Sequence[AnyRun], axis: Axis, path: Path) -> None:
    """Draws the learning curves of runs and writes them to a file.

    Args:
        runs: The runs, at least one.
        axis: The quantity on the horizontal axis.
        path: The file; its suffix says whether it is a PNG, an SVG or a PDF.

    Raises:
        RewardMachineError: There is nothing to plot yet, or the format is none of these.
    """
    drawn = curves(runs, axis)
    figure = new_figure(7.2, 4.2)
    axes = figure.add_subplot()
    for number, curve in enumerate(drawn):
        _draw_curve(axes, curve, COLOURS[number % len(COLOURS)])
    _label_axes(axes, axis, _title(runs), has_names=len(drawn) > 1)
    save_figure(figure, path)


def _draw_curve(axes: Any, curve: Curve, colour: str) -> None:
    seeds = f" ({curve.seeds} seeds)" if curve.seeds > 1 else ""
    if curve.seeds > 1:
        axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
    marker = "o" if len(curve.x) == 1 else None  # a line of one point would be invisible
    axes.plot(curve.x, curve.mean, color=colour, linewidth=1.8, marker=marker, label=curve.name + seeds)


def _label_axes(axes: Any, axis: Axis, title: str, *, has_names: bool) -> None:
    dress(axes)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.set_xlabel(_TITLES[axis], color=SOFT)
    axes.set_ylabel("mean greedy return", color=SOFT)
    axes.set_xlim(left=0)
    if has_names:
        axes.legend(frameon=False, loc="best")


def _title(runs: Sequence[AnyRun]) -> str:
    """The domain, the task and the algorithm, as far as all runs have them in common."""
    trained = (TrainRun, TrainGymnasiumRun)
    scenarios = {subject(run) for run in runs}
    tasks = {run.spec.task if isinstance(run, trained) else _tasks(run) for run in runs}
    algorithms = {run.spec.algorithm.value if isinstance(run, trained) else "LHRM" for run in runs}
    parts = [scenarios, tasks, algorithms]
    return " · ".join(part.pop() for part in parts if len(part) == 1) or "greedy return"


def subject(run: AnyRun) -> str:
    """Where a run takes place, for people."""
    if isinstance(run, TrainRun):
        return scenario_title(run.spec.domain, run.spec.setting)
    if isinstance(run, TrainGymnasiumRun):
        return run.spec.env or "a Gymnasium environment"
    return title_of(run)


def _tasks(run: StoredRun) -> str:
    return f"mean of {len(run.tasks)} tasks" if len(run.tasks) > 1 else run.tasks[0]
