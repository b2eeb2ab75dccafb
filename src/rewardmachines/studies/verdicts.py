"""The rules by which claims are judged: means with their standard errors, against what the paper says in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import fmean
from typing import Final, NamedTuple

from rewardmachines.studies.aggregate import Mean

OPEN: Final = "open"
HOLDS: Final = "holds"
WEAKER: Final = "in direction, but weaker"
WITHIN: Final = "within errors"
FAILS: Final = "does not hold"
_WORST_FIRST: Final = (FAILS, WITHIN, WEAKER, HOLDS)


@dataclass(frozen=True)
class Judgement:
    """The verdict of some evidence on a claim."""

    shown: str
    """The numbers that decide, in words."""
    verdict: str
    why: str = ""
    """Why the claim does not hold, or how far it does."""
    missing: tuple[str, ...] = ()
    """The evidence that is missing."""
    is_refuted: bool = False
    """Whether nothing that is missing could save the claim."""

    @property
    def answer(self) -> tuple[str, str]:
        """The verdict, which is open as long as results are missing that could change it, and a remark on it."""
        if not self.missing or self.is_refuted:
            return self.verdict, self.why
        so_far = f"So far: {self.verdict}. " if self.verdict != OPEN else ""
        return OPEN, f"{so_far}Missing: {', '.join(self.missing)}."


# -- rules, which take differences within one standard error for none


class Ratio(NamedTuple):
    """The ratio of two means."""

    value: float
    error: float
    """Its standard error, from those of both means, which are of different runs."""

    @staticmethod
    def of(larger: Mean, smaller: Mean) -> Ratio:
        """The ratio of two means, the second of which is not 0."""
        value = larger.value / smaller.value
        return Ratio(value, hypot(larger.error / smaller.value, value * smaller.error / smaller.value))

    @staticmethod
    def mean(ratios: Sequence[Ratio]) -> Ratio:
        """The mean of at least one ratio."""
        return Ratio(fmean(r.value for r in ratios), hypot(*(r.error for r in ratios)) / len(ratios))

    def __str__(self) -> str:
        return f"{self.value:.1f} ×"


def size_verdict(ratios: Iterable[Ratio], stated: float) -> str:
    """Whether an effect is as large as the paper says everywhere, or at least goes the same way everywhere.

    Args:
        ratios: The size of the effect in each setting; more than 1 means that it is there.
        stated: The least size of the effect, as the paper states it.

    >>> cases = ((), ((5.5, 0.1), (7, 0)), ((4.8, 0.3), (7, 0)), ((4.8, 0.1), (7, 0)), ((0.9, 0.3), (7, 0)))
    >>> [size_verdict([Ratio(*pair) for pair in pairs], 5.0) for pairs in cases]
    ['open', 'holds', 'holds', 'in direction, but weaker', 'does not hold']
    """
    known = list(ratios)
    if not known:
        return OPEN
    if any(ratio.value <= 1 for ratio in known):
        return FAILS
    is_there = all(ratio.value - ratio.error > 1 for ratio in known)
    return HOLDS if is_there and all(ratio.value + ratio.error >= stated for ratio in known) else WEAKER


def limit_verdict(ratio: Ratio | Mean, limit: float) -> str:
    """Whether a value is no larger than the paper says.

    >>> [limit_verdict(Ratio(value, 0.2), 2.0) for value in (1.5, 2.1, 3.0)]
    ['holds', 'holds', 'does not hold']
    """
    return HOLDS if ratio.value - ratio.error <= limit else FAILS


def order_verdict(first: Mean, second: Mean) -> str:
    """Whether one mean is smaller than another by more than the standard error of their difference.

    >>> [order_verdict(Mean(value, 0.3, 5), Mean(2.0, 0.4, 5)) for value in (1.0, 1.8, 3.0)]
    ['holds', 'within errors', 'does not hold']
    """
    difference, error = second.value - first.value, hypot(first.error, second.error)
    return HOLDS if difference > error else FAILS if -difference > error else WITHIN


def worst(verdicts: Iterable[str]) -> str:
    """The verdict on a claim that must hold in several places; open, if there are none.

    >>> worst([HOLDS, WITHIN]), worst([])
    ('within errors', 'open')
    """
    known = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in known), OPEN)
