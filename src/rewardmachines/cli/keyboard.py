"""Keys that are read one by one from a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rewardmachines.core.errors import RewardMachineError

LEAVE: Final = ("q", "\x03", "\x04", "")
"""Keys that leave: the letter, Ctrl-C, Ctrl-D, and the end of the input."""
_ARROWS: Final = {"A": "up", "B": "down", "C": "right", "D": "left"}


@contextmanager
def single_keys() -> Iterator[Callable[[], str]]:
    """A function that waits for one key; the terminal is put back as it was, whatever happens.

    Raises:
        RewardMachineError: The system has no such terminals.
    """
    try:
        import termios  # on Unix only
        import tty
    except ImportError:
        raise RewardMachineError("keys can be read on Unix terminals only: use --random") from None
    descriptor = sys.stdin.fileno()
    settings = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield _read_key
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, settings)


def _read_key() -> str:
    key = sys.stdin.read(1)
    if key == "\x1b" and sys.stdin.read(1) == "[":
        return _ARROWS.get(sys.stdin.read(1), "")
    return key
