"""What results say of a claim of the paper: whether it holds, and why not, or what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

OPEN: Final = "open"
HOLDS: Final = "holds"
WEAKER: Final = "in direction, but weaker"
FAILS: Final = "does not hold"


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, and what our results say of it."""

    claim: str
    paper: str
    """The published number, or what the paper says."""
    ours: str
    verdict: str
    """Whether it holds; open, as long as results are missing that could change the answer."""
    remark: str = ""
    """Why it does not hold, or what is missing."""


def judged(
    claim: str, paper: str, ours: str, verdict: str, *, missing: Sequence[str], why: str, refuted: bool = False
) -> Finding:
    """A finding that is open while results are missing, unless those that there are refute the claim already.

    Args:
        claim: The claim.
        paper: The published number, or what the paper says.
        ours: The same of our results.
        verdict: What the results that there are say.
        missing: What is missing.
        why: Why the claim does not hold, if it does not.
        refuted: Whether nothing that is missing could save the claim.
    """
    if missing and not refuted:
        so_far = f"So far: {verdict}. " if verdict != OPEN else ""
        return Finding(claim, paper, ours, OPEN, f"{so_far}Missing: {', '.join(missing)}.")
    return Finding(claim, paper, ours, verdict, "" if verdict == HOLDS else why)


def verdict_of(ratios: Iterable[float], published: float) -> str:
    """Whether an effect is as large as published everywhere, or at least goes the same way everywhere.

    Args:
        ratios: How large it is in each setting; more than 1 means that it is there.
        published: How large it is in the paper.

    >>> [verdict_of(ratios, 5.0) for ratios in ((), (5.5, 7.0), (1.2, 7.0), (0.9, 7.0))]
    ['open', 'holds', 'in direction, but weaker', 'does not hold']
    """
    known = list(ratios)
    if not known:
        return OPEN
    if min(known) >= published:
        return HOLDS
    return WEAKER if min(known) > 1 else FAILS
