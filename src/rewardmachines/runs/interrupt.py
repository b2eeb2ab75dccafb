"""Defers Ctrl-C to the end of a block of code that must be executed as a whole."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Lets Ctrl-C take effect at the end of the block, or at once if it is pressed a second time."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    deferred: list[int] = []

    def wait(number: int, frame: Any) -> None:
        if deferred:
            before(number, frame)
        deferred.append(number)
        print("\nstopping after this chunk; Ctrl-C again to stop at once", file=sys.stderr, flush=True)

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if deferred:
        before(deferred[0], None)
