"""Means over runs, as the paper has them: with the standard error of the mean, over the runs that were completed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import floor, log10, sqrt
from statistics import fmean, stdev
from typing import Any, Final, TypeAlias

import numpy as np

from rewardmachines.studies.results import ReturnCurve

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Mean:
    """A mean over runs."""

    value: float
    error: float
    """The standard error of the mean; 0 for a single run."""
    runs: int

    def __str__(self) -> str:
        size = abs(self.value)
        # One digit after the point, as the paper has them, and more where nothing would be left.
        digits = 0 if size >= 1000 else 1 if size >= 0.05 or not size else -floor(log10(size))
        return f"{self.value:,.{digits}f} ({self.error:,.{digits}f})"


def mean_of(values: Iterable[float | None]) -> Mean | None:
    """The mean of what there is; None if there is nothing.

    >>> mean_of([1, 2, None, 3])
    Mean(value=2.0, error=0.5773502691896258, runs=3)
    """
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    error = stdev(known) / sqrt(len(known)) if len(known) > 1 else 0.0
    return Mean(fmean(known), error, len(known))


@dataclass(frozen=True)
class MeanCurve:
    """Returns against episodes or steps: the mean over runs, with a band of one standard error."""

    x: Numbers
    mean: Numbers
    low: Numbers
    high: Numbers
    runs: int


POINTS: Final = 200
"""The largest number of points of a curve, and of a mean curve."""
WINDOW: Final = 20
"""The number of evaluations that are averaged where there are many, as in the paper."""
LOOK_AHEAD: Final = 3
"""The evaluations after a machine was learned in which a decay shows."""


def kept(curve: ReturnCurve) -> ReturnCurve:
    """A curve of few points: as it is, if there are few, or else its moving mean at points that are evenly spread.

    With few evaluations, a moving mean would hide what was reached in the end; with many, it is the paper's.
    """
    if len(curve.returns) <= POINTS:
        return curve
    at = [round(i * (len(curve.returns) - 1) / (POINTS - 1)) for i in range(POINTS)]
    means = [fmean(curve.returns[max(0, i + 1 - WINDOW) : i + 1]) for i in at]
    return replace(
        curve,
        episodes=tuple(curve.episodes[i] for i in at),
        steps=tuple(curve.steps[i] for i in at),
        returns=tuple(round(mean, 4) for mean in means),
        window=WINDOW,
    )


def decays(curve: ReturnCurve, learned: Iterable[int]) -> tuple[int, int]:
    """The number of machines of a lower level that were learned while a task returned something, and of decays then.

    Args:
        curve: All evaluations of the task.
        learned: The episodes at which machines of lower levels were learned.

    >>> decays(ReturnCurve("t", (1, 2, 3, 4), (10, 20, 30, 40), (0.0, 0.9, 0.1, 0.8)), (1, 3, 4))
    (2, 1)
    """
    events = fallen = 0
    for episode in learned:
        first = bisect_left(curve.episodes, episode)
        before, after = curve.returns[first - 1] if first else 0.0, curve.returns[first : first + LOOK_AHEAD]
        if before and after:
            events += 1
            fallen += min(after) < before / 2
    return events, fallen


def mean_curve(curves: Sequence[ReturnCurve], axis: str) -> MeanCurve:
    """The mean of curves of different runs. A curve is 0 before its first evaluation, and constant after its last.

    Args:
        curves: At least one, each of at least one evaluation.
        axis: `episodes` or `steps`.
    """
    lines = [_line(curve, axis) for curve in curves]
    end = max(x[-1] for x, _ in lines)
    at = np.linspace(0.0, end, POINTS)
    values = np.stack([np.interp(at, x, y) for x, y in lines])
    error = values.std(axis=0, ddof=1) / sqrt(len(values)) if len(values) > 1 else np.zeros(POINTS)
    mean = values.mean(axis=0)
    return MeanCurve(at, mean, np.clip(mean - error, 0, 1), np.clip(mean + error, 0, 1), len(values))


def _line(curve: ReturnCurve, axis: str) -> tuple[Numbers, Numbers]:
    x = np.array([0.0, *getattr(curve, axis)])
    return x, np.array([0.0, *curve.returns])


def reached_at(curve: ReturnCurve, threshold: float, axis: str, evaluations: int = 3) -> float | None:
    """The point at which the mean of consecutive evaluations first reached a return; None if it never did.

    >>> reached_at(ReturnCurve("t", (1, 2, 3, 4), (10, 20, 30, 40), (0.0, 1.0, 1.0, 1.0)), 0.9, "steps")
    40.0
    """
    for last in range(evaluations, len(curve.returns) + 1):
        if fmean(curve.returns[last - evaluations : last]) >= threshold:
            return float(getattr(curve, axis)[last - 1])
    return None
