"""Keys for instances that are drawn on the device: one seed stands for as many instances as are asked for."""

from __future__ import annotations

from typing import Any, Final

import jax
import numpy as np

from rewardmachines.core.errors import RewardMachineError

SEEDS: Final = 2**32
"""The number of seeds."""


def key_of(seed: int) -> Any:
    """The key from which all instances of a seed are drawn.

    Args:
        seed: From 0 to 2³² - 1. Instances of different seeds are independent of each other.

    Raises:
        RewardMachineError: There is no such seed.
    """
    if not 0 <= seed < SEEDS:
        raise RewardMachineError(f"instances are drawn from seeds between 0 and {SEEDS - 1:,}, not {seed:,}")
    return jax.random.key(np.uint32(seed))


def instance_key(key: Any, number: Any) -> Any:
    """The key of one instance. It depends on its number alone, so that fewer instances are the first of many."""
    return jax.random.fold_in(key, number)
