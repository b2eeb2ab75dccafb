"""The curves of one or more runs: greedy returns over seeds, by task or as the mean of all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.reports.any_run import AnyRun
from rewardmachines.reports.charts import Numbers
from rewardmachines.reports.curve_data import moving_mean
from rewardmachines.runs.config_file import flat

Axis: TypeAlias = Literal["steps", "episodes", "seconds"]
"""The quantity on the horizontal axis."""

_FIRST: Final = ("domain", "setting", "task", "algorithm")
"""The settings that curves are named after first, wherever runs differ in them."""
_NOT_SETTINGS: Final = ("seed", "seeds", "instance_seed")
"""The fields of a spec that do not tell curves apart: seeds may have instances of their own."""
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
    instances: int
    """The number of greedy episodes of each evaluation of a task, one in every instance."""


def tasks_of(run: AnyRun) -> tuple[str, ...]:
    """The tasks of a run: one if it trains policies, all that it learns machines for otherwise."""
    return (run.spec.task,) if isinstance(run, (TrainRun, TrainGymnasiumRun)) else run.tasks


def curves(runs: Sequence[AnyRun], axis: Axis, *, over_tasks: bool = False, window: int = 1) -> list[Curve]:
    """The curves of runs. Runs that differ in nothing but their seeds make one curve for each task.

    Args:
        runs: The runs, at least one.
        axis: The quantity on the horizontal axis.
        over_tasks: Whether all tasks of a run make one curve, their mean.
        window: The number of evaluations in the moving mean of a seed; 1 for the evaluations themselves.

    Raises:
        RewardMachineError: A run has not been evaluated yet, or its file of times is incomplete.
    """
    groups: dict[str, list[AnyRun]] = {}
    for run in runs:
        tree = run.hierarchy if isinstance(run, (TrainRun, TrainGymnasiumRun)) else None
        groups.setdefault(repr((settings_of(run), tree)), []).append(run)
    members = list(groups.values())
    names = _names([group[0] for group in members])
    made: list[Curve] = []
    for name, group in zip(names, members, strict=True):
        tasks = tasks_of(group[0])
        chosen = [range(len(tasks))] if over_tasks else [range(n, n + 1) for n in range(len(tasks))]
        evaluations = [evaluated for run in group for evaluated in _evaluations(run, axis)]
        made += [_curve(name, tuple(tasks[n] for n in mine), mine, evaluations, window) for mine in chosen]
    return made


def settings_of(run: AnyRun) -> dict[str, Any]:
    """The settings that a run shares with all other runs of its curve, by their full names."""
    return {name: value for name, value in flat(run.spec).items() if name not in _NOT_SETTINGS}


def _names(runs: Sequence[AnyRun]) -> list[str]:
    """Names runs by as few settings as tell them apart; by their folders, if no settings do."""
    settings = [settings_of(run) for run in runs]
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


@dataclass(frozen=True)
class _Evaluations:
    """The evaluations of one seed: their positions on the axis, and the returns by evaluation, task and instance."""

    x: Numbers
    returns: Numbers


def _curve(
    name: str, tasks: tuple[str, ...], numbers: range, evaluations: Sequence[_Evaluations], window: int
) -> Curve:
    """The mean of the curves of all seeds, which were evaluated at different positions of the axis."""
    lines = [(each.x, moving_mean(each.returns[:, list(numbers)].mean(axis=(1, 2)), window)) for each in evaluations]
    begin, end = max(x[0] for x, _ in lines), max(x[-1] for x, _ in lines)
    evaluated_at = np.unique(np.concatenate([x for x, _ in lines]))
    evaluated_at = evaluated_at[evaluated_at >= begin]
    points = evaluated_at if len(evaluated_at) <= _POINTS else np.linspace(begin, end, _POINTS)
    values = np.stack([np.interp(points, x, y) for x, y in lines])  # [S, X]; a seed that has ended keeps its return
    generator = np.random.default_rng(0)
    resampled = generator.integers(len(values), size=(_RESAMPLES, len(values)))
    low, high = np.percentile(values[resampled].mean(axis=1), [2.5, 97.5], axis=0)
    return Curve(
        name=name,
        tasks=tasks,
        x=points,
        mean=values.mean(axis=0),
        low=low,
        high=high,
        seeds=len(values),
        instances=evaluations[0].returns.shape[2],
    )


def _evaluations(run: AnyRun, axis: Axis) -> list[_Evaluations]:
    """The evaluations of a run, seed by seed."""
    rows = [row for row in run.rows() if row.returns is not None]
    if not rows:
        raise RewardMachineError(f"{run.folder}: there is nothing to plot yet: no evaluation so far")
    seconds = _seconds(run) if axis == "seconds" else {}
    if axis == "seconds" and any(row.chunk not in seconds for row in rows):
        raise RewardMachineError(f"{run.folder}: timing.jsonl does not tell when each evaluation was")
    by_seed: dict[int, list[Any]] = {}
    for row in rows:
        by_seed.setdefault(row.seed if isinstance(row, Row) else run.spec.seed, []).append(row)
    return [
        _Evaluations(
            np.array([seconds[row.chunk] if axis == "seconds" else float(getattr(row, axis)) for row in mine]),
            np.array([[row.returns] if isinstance(row, Row) else row.returns for row in mine], float),
        )
        for mine in by_seed.values()
    ]


def _seconds(run: AnyRun) -> dict[int, float]:
    """The seconds after which each chunk was done. A moment is found by the steps of the seed that had taken most."""
    known = {moment.steps: moment.seconds for moment in run.moments()}
    steps: dict[int, int] = {}
    for row in run.rows():
        steps[row.chunk] = max(row.steps, steps.get(row.chunk, 0))
    return {chunk: known[most] for chunk, most in steps.items() if most in known}
