"""Numbers and times in the notations of texts: 500000, 500_000, 500,000, 1e6, 2.5M, 90s, 2h."""

from __future__ import annotations

import math
import re
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.stopping import RunBudget

_WHOLE: Final = re.compile(
    r"(?P<digits>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*)(?:\.\d+)?)(?:[eE]\+?(?P<zeros>\d{1,3}))?(?P<unit>[kKM]?)",
    re.ASCII,
)
_UNITS: Final = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}  # m are minutes
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
_MOST_DIGITS: Final = 100
"""Numbers that are longer are not read: nothing that is counted needs them, and Python takes long."""


def read_whole(text: str) -> int:
    """Reads a whole number.

    Args:
        text: Digits, with underscores or with commas between groups of three; perhaps with an exponent, or with k for
            thousands or M for millions.

    Raises:
        ValueError: It is none, such as 1.5; the message is one line.

    >>> [read_whole(text) for text in ("500000", "1_000_000", "1,000,000", "1e6", "2.5M", "-1")]
    [500000, 1000000, 1000000, 1000000, 2500000, -1]
    """
    found = _WHOLE.fullmatch(text.strip())
    if found is None:
        raise ValueError(_no_whole_number(text))
    digits, zeros = re.sub("[_,]", "", found["digits"]), int(found["zeros"] or 0)
    if len(digits) + zeros > _MOST_DIGITS:
        raise ValueError(f"a number of more than {_MOST_DIGITS} digits is not read")
    whole, _, fraction = digits.partition(".")
    # In whole numbers, since a float of 1e23 is another number.
    shift = max(len(fraction) - zeros, 0)
    scaled: int = int(whole + fraction) * 10 ** max(zeros - len(fraction), 0) * _UNITS[found["unit"]]
    if scaled % 10**shift:
        raise ValueError(_no_whole_number(text))
    result: int = scaled // 10**shift
    return result


def read_number(text: str) -> float:
    """Reads a number that need not be whole.

    Raises:
        ValueError: It is none; the message is one line.

    >>> read_number("0.95"), read_number("1_000"), read_number("1,000.5")
    (0.95, 1000.0, 1000.5)
    """
    try:
        number = float(re.sub(r",(?=\d{3}\b)", "", text))
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"'{text}' is not a number, such as 0.95")
    return number


def _no_whole_number(text: str) -> str:
    return f"'{text}' is not a whole number, such as 500000 or 1e6"


def read_budget(text: str) -> RunBudget:
    """Reads a number of steps, or a time with its unit.

    Raises:
        RewardMachineError: It is neither.

    >>> read_budget("1.5h"), read_budget("2M").steps
    (RunBudget(steps=None, episodes=None, seconds=5400.0), 2000000)
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?) ?([smh])", text.strip())
    if found is not None and (seconds := float(found[1]) * _SECONDS[found[2]]):
        return RunBudget(seconds=seconds)
    try:
        steps = read_whole(text)
    except ValueError:
        steps = 0
    if steps < 1:
        raise RewardMachineError(
            f"--budget {text}: write a number of steps, such as 500000 or 1e6, or a time, such as 90s, 30m or 2h"
        )
    return RunBudget(steps=steps)
