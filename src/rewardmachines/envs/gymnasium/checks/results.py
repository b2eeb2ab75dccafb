"""Checks of the values of `reset` and `step` against Gymnasium's interface."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

import numpy as np

from rewardmachines.envs.gymnasium.checks.faults import short

RESET: Final = "(observation, info)"
STEP: Final = "(observation, reward, terminated, truncated, info)"
_PLAIN_NUMBERS: Final = frozenset((float, int, np.float64, np.float32))


def reset_fault(returned: Any) -> str | None:
    """The fault of the result of `reset`, the observation aside; None for a correct one."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 2 or not isinstance(returned[1], Mapping):
        return f"reset returned {_form(returned)}, but it must return {RESET}, info being a dict"
    return None


def step_fault(returned: Any) -> str | None:
    """The fault of the result of `step`, the observation aside; None for a correct one."""
    if type(returned) is tuple and len(returned) == 5:
        _, reward, terminated, truncated, info = returned
        is_usual = terminated is False and truncated is False and type(info) is dict  # as in all steps but the last
        if is_usual and (type(reward) is float or type(reward) in _PLAIN_NUMBERS) and isfinite(reward):
            return None
    return _unusual_step_fault(returned)


def _unusual_step_fault(returned: Any) -> str | None:
    if not isinstance(returned, (tuple, list)) or len(returned) != 5:
        return f"step returned {_form(returned)}, but it must return {STEP}"
    _, reward, terminated, truncated, info = returned
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if not is_flag(flag):
            return f"step returned {short(flag)} as {name}, which is neither True nor False"
    if not isinstance(info, Mapping):
        return f"step returned {short(info)} as info, which is no dict"
    return _reward_fault(reward)


def is_flag(value: Any) -> bool:
    """Whether a value is a boolean: of Python, of NumPy, or in an array without axes."""
    return isinstance(value, (bool, np.bool_)) or (
        getattr(value, "shape", None) == () and getattr(value, "dtype", None) == np.bool_
    )


def _reward_fault(reward: Any) -> str | None:
    try:
        array = np.asarray(reward)
    except (TypeError, ValueError):
        return f"the reward is {short(reward)}, which is no number"
    if array.shape != () or array.dtype.kind not in "fiub":
        return f"the reward is {short(reward)}, which is no number"
    return None if np.isfinite(array) else f"the reward is {array}, which is not finite"


def _form(returned: Any) -> str:
    if returned is None:
        return "None"
    if isinstance(returned, (tuple, list)):
        types = ", ".join(type(part).__name__ for part in returned)
        return f"{len(returned)} values ({types})"
    return f"one value of type {type(returned).__name__}"
