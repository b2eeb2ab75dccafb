"""Means over runs, as the paper has them: with the standard error of the mean, over the runs that were completed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10, sqrt
from statistics import fmean, stdev
from typing import Any, Final, TypeAlias

import numpy as np

from rewardmachines.experiments.results import Curve

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
"""How many points a mean curve has."""
WINDOW: Final = 20
"""How many evaluations are averaged where there are many, as in the paper."""
MANY: Final = 10 * WINDOW
"""With fewer evaluations, a moving mean would hide what was reached in the end."""


def mean_curve(curves: Sequence[Curve], axis: str) -> MeanCurve:
    """The mean of curves of different runs. Who has ended keeps the last return; before the first evaluation, it is 0.

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


def _line(curve: Curve, axis: str) -> tuple[Numbers, Numbers]:
    x = np.array([0.0, *getattr(curve, axis)])
    returns = np.array([0.0, *curve.returns])
    window = WINDOW if len(curve.returns) > MANY else 1
    smooth = np.convolve(returns, np.ones(window) / window)[: len(returns)]
    counts = np.minimum(np.arange(1, len(returns) + 1), window)
    return x, smooth * window / counts


def reached_at(curve: Curve, threshold: float, axis: str, evaluations: int = 3) -> float | None:
    """Where the mean of consecutive evaluations first was so large; None if it never was.

    >>> reached_at(Curve("t", 0, (1, 2, 3, 4), (10, 20, 30, 40), (0.0, 1.0, 1.0, 1.0)), 0.9, "steps")
    40.0
    """
    for last in range(evaluations, len(curve.returns) + 1):
        if fmean(curve.returns[last - evaluations : last]) >= threshold:
            return float(getattr(curve, axis)[last - 1])
    return None
