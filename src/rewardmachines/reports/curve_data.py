"""What learning curves are drawn from: returns while a task was active, and the moments that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.induction import Cause
from rewardmachines.lhrm.machine_pool import TaskSpec
from rewardmachines.reports.charts import Numbers
from rewardmachines.reports.run_view import RunView


@dataclass(frozen=True)
class TaskCurve:
    """Of one task; all positions are steps."""

    task: TaskSpec
    steps: Numbers
    returns: Numbers
    """Mean over instances, at these steps; not a number where the task was not active."""
    idle: tuple[tuple[float, float], ...]
    """From where to where it was not active."""
    first: float | None
    """When there was a machine."""
    later: tuple[float, ...]
    """When it was replaced."""
    given_up: float | None

    @property
    def machines(self) -> int:
        return (self.first is not None) + len(self.later)


@dataclass(frozen=True)
class CurveData:
    """What is drawn of a run."""

    tasks: tuple[TaskCurve, ...]
    steps: Numbers
    """Of all rows, and the episodes then."""
    episodes: Numbers
    levels: tuple[tuple[int, float], ...]
    """Levels above the first, and when each began for the first time."""

    @property
    def end(self) -> float:
        return float(self.steps[-1])

    @property
    def has_evaluations(self) -> bool:
        return len(self.tasks[0].steps) > 0

    def episodes_at(self, steps: float) -> float:
        return float(np.interp(steps, self.steps, self.episodes))

    def by_level(self) -> list[tuple[int, list[TaskCurve]]]:
        grouped = groupby(sorted(self.tasks, key=lambda one: one.task.level), key=lambda one: one.task.level)
        return [(level, list(mine)) for level, mine in grouped]


def curve_data(run: RunView) -> CurveData:
    rows, tasks = run.rows(), run.worlds.tasks
    steps, episodes = np.array([0.0, *(r.steps for r in rows)]), np.array([0.0, *(r.episodes for r in rows)])
    begun = {
        level: next((float(r.steps) for r in rows if r.level >= level), None) for level in {t.level for t in tasks}
    }
    levels = tuple((level, at) for level, at in sorted(begun.items()) if level > 1 and at is not None)
    return CurveData(tuple(_curve(rows, n, task) for n, task in enumerate(tasks)), steps, episodes, levels)


def _curve(rows: Sequence[Row], number: int, task: TaskSpec) -> TaskCurve:
    learned = [(float(row.steps), event.cause) for row in rows for event in row.learned if event.task == task.name]
    new = [at for at, cause in learned if cause is not Cause.PROBLEM]
    given_up = next((at for at, cause in learned if cause is Cause.PROBLEM), None)
    steps, returns = [], []
    for row in rows:
        if row.returns is not None:
            is_active = row.level >= task.level and (given_up is None or row.steps < given_up)
            steps.append(float(row.steps))
            returns.append(float(np.mean(row.returns[number])) if is_active else np.nan)
    idle = _idle(rows, task.level)
    return TaskCurve(task, np.array(steps), np.array(returns), idle, new[0] if new else None, tuple(new[1:]), given_up)


def _idle(rows: Sequence[Row], level: int) -> tuple[tuple[float, float], ...]:
    """A level holds from the row that tells it to the next."""
    known = [(0.0, 1), *((float(row.steps), row.level) for row in rows)]
    spans: list[tuple[float, float]] = []
    for (begin, now), (end, _) in pairwise(known):
        if now >= level:
            continue
        if spans and spans[-1][1] == begin:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((begin, end))
    return tuple(spans)


def moving_mean(values: Numbers, window: int) -> Numbers:
    """Of each value and those before it, as many as there are; what is not a number stays so and counts for nothing."""
    known = ~np.isnan(values)
    sums = np.cumsum(np.where(known, values, 0.0))
    counts = np.cumsum(known)
    sums[window:], counts[window:] = sums[window:] - sums[:-window], counts[window:] - counts[:-window]
    return np.where(known, sums / np.maximum(counts, 1), np.nan)
