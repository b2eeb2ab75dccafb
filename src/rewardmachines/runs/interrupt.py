"""Ctrl-C at a good moment: never in the middle of what must be done as a whole."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Ctrl-C takes effect at the end of the block; pressed a second time, at once."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    asked: list[int] = []

    def wait(number: int, frame: Any) -> None:
        if asked:
            before(number, frame)
        asked.append(number)
        print("\nstopping after this chunk; Ctrl-C again to stop at once", file=sys.stderr, flush=True)

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        before(asked[0], None)
