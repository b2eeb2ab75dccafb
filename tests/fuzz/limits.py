"""Limits within which a text must be read or refused."""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from fuzz.readers import Reader
from rewardmachines.core.errors import RewardMachineError

SECONDS: Final = 2.0
MEMORY: Final = 2**30


class TooSlow(Exception):
    """A reader took more than its time."""


@contextmanager
def limited() -> Iterator[None]:
    """Ends what takes more than two seconds of this process, and complains about what takes more than 1 GiB."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TooSlow(f"not read within {SECONDS} s")

    before = _peak()
    handler = signal.signal(signal.SIGVTALRM, stop)
    # Again and again: an exception that is raised in a callback of the garbage collector is lost.
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS / 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
    assert _peak() - before < MEMORY


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def check(reader: Reader, text: str) -> None:
    """Has a text read, which must give a value or an error of ours, within the limits."""
    with limited():
        try:
            reader.read(text)
        except RewardMachineError as problem:
            assert str(problem)
