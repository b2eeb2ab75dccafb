"""The range of seeds."""

from __future__ import annotations

from typing import Final

from rewardmachines.core.errors import RewardMachineError

SEEDS: Final = 2**32
"""The number of seeds, which begin with 0. Generators would wrap larger numbers around, or refuse them."""


def check_seed(seed: int, seeds: int = 1) -> None:
    """Checks that consecutive numbers are seeds.

    Args:
        seed: The first of them.
        seeds: The number of them.

    Raises:
        RewardMachineError: One of them is no seed.
    """
    if not 0 <= seed <= SEEDS - seeds:
        last = "" if seeds == 1 else f", and so must be the last of {seeds:,}"
        raise RewardMachineError(f"a seed lies between 0 and {SEEDS - 1:,}{last}, not {_short(seed)}")


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**20 else "a number with more digits"
