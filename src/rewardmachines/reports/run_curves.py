"""The curves of one or more runs: greedy returns over seeds, by task or as the mean of all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.records import flat
from rewardmachines.reports.charts import Numbers, moving_mean
from rewardmachines.reports.summary import evaluated_in
from rewardmachines.runs.run import Run

Axis: TypeAlias = Literal["steps", "episodes", "seconds"]
"""The quantity on the horizontal axis."""

_FIRST: Final = ("domain.domain", "domain.setting", "tasks", "agent", "learner")
"""The settings that curves are named after first, wherever runs differ in them."""
_NOT_SETTINGS: Final = ("seed", "domain.instance_seed", "stop_at")
"""The fields of a config that do not tell curves apart: seeds may have instances of their own. Nor does the budget."""
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
    """What tells its runs from those of the other curves."""
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
    """Names runs by as few settings as tell them apart; by their folders, if no settings do."""
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
        raise RewardMachineError(f"{run.folder}: timing.jsonl does not tell when each evaluation was")
    return np.array([seconds[row.steps] for row in rows]), returns
