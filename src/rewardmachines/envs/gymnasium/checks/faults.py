"""The errors for environments that break the rules, and their one-line messages."""

from __future__ import annotations

from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError

SHOWN: Final = 80
"""The largest number of characters of an observation, or of another value, in a message."""
TOLD: Final = 300
"""The largest number of characters of another error's message."""


class EnvironmentFault(RewardMachineError):
    """An environment that returned what no environment may return, or that raised an error."""


class LabelingError(EnvironmentFault):
    """A labelling function that did not do its job."""


class OutOfBoundsWarning(UserWarning):
    """Observations leave the bounds of their space, which is no error: networks take any finite number."""


def short(value: Any) -> str:
    """A value in one line of limited length."""
    return _line(repr(value), SHOWN)


def told(problem: BaseException) -> str:
    """The one-line summary of an error: its type and its message."""
    message = _line(str(problem), TOLD)
    return f"{type(problem).__name__}: {message}" if message else type(problem).__name__


def name_of(env: Any) -> str:
    """The name of an environment in messages: its Gymnasium id, or else its class."""
    spec = getattr(env, "spec", None)
    return str(spec.id) if spec is not None else type(getattr(env, "unwrapped", env)).__name__


def _line(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"
