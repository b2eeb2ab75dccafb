"""The data of learning curves: the returns of each task while its level was active, and when machines were learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

import numpy as np

from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.machine_pool import TaskSpec
from rewardmachines.lhrm.setbacks import Cause
from rewardmachines.reports.charts import Numbers
from rewardmachines.reports.run_view import RunView

MANY: Final = 120
"""The largest number of evaluations that are drawn one by one; of more, the curve is their moving mean."""
WINDOW: Final = 20
"""The number of evaluations in a moving mean, as in the paper."""


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
    """Everything that the learning curves of a run are drawn from."""

    tasks: tuple[TaskCurve, ...]
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
        """The number of episodes that had ended after so many steps, interpolated between chunks."""
        return float(np.interp(steps, self.steps, self.episodes))

    def by_level(self) -> list[tuple[int, list[TaskCurve]]]:
        """The levels, lowest first, each with the curves of its tasks."""
        groups = groupby(sorted(self.tasks, key=lambda curve: curve.task.level), key=lambda curve: curve.task.level)
        return [(level, list(curves)) for level, curves in groups]


def curve_data(run: RunView) -> CurveData:
    """Collects the data of the learning curves of a run, finished or not."""
    rows, tasks = run.rows(), run.worlds.tasks
    steps, episodes = np.array([0.0, *(r.steps for r in rows)]), np.array([0.0, *(r.episodes for r in rows)])
    begun = {
        level: next((float(r.steps) for r in rows if r.level >= level), None) for level in {t.level for t in tasks}
    }
    levels = tuple((level, at) for level, at in sorted(begun.items()) if level > 1 and at is not None)
    return CurveData(tuple(_curve(rows, n, task) for n, task in enumerate(tasks)), steps, episodes, levels)


def _curve(rows: Sequence[Row], number: int, task: TaskSpec) -> TaskCurve:
    """The curve of the task with this number in the order of the run's tasks."""
    learned = [(float(row.steps), event.cause) for row in rows for event in row.learned if event.task == task.name]
    new = [at for at, cause in learned if cause is not Cause.PROBLEM]
    given_up = next((at for at, cause in learned if cause is Cause.PROBLEM), None)
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


def moving_mean(values: Numbers, window: int) -> Numbers:
    """The moving mean of values, some of which may be NaN.

    Args:
        values: The values, in their order.
        window: The number of values in a mean: one value and those before it, or fewer where there are fewer.

    Returns:
        The mean that ends at each value. A NaN stays one, and does not count in other means.
    """
    known = ~np.isnan(values)
    sums = np.cumsum(np.where(known, values, 0.0))
    counts = np.cumsum(known)
    sums[window:], counts[window:] = sums[window:] - sums[:-window], counts[window:] - counts[:-window]
    return np.where(known, sums / np.maximum(counts, 1), np.nan)
