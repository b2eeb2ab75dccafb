"""Ctrl-C: a program ends at once, once a run has begun between two chunks, and pressed a second time always at once.

An exception is not enough. Raised in a callback of the garbage collector or the compiler, it is printed and forgotten,
and while compiled code runs, it is not raised at all. So a program of this package is ended by a thread that hears
every Ctrl-C when it is pressed, and a run asks between its chunks.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

INTERRUPTED: Final = 130
"""The exit status of programs that Ctrl-C has ended."""
_SHOW_CURSOR: Final = "\x1b[?25h"


class _Asked:
    """Whether Ctrl-C was pressed in a block that must be executed as a whole."""

    blocks: int = 0
    """The number of such blocks that are being executed, one inside the other."""
    is_pressed: bool = False
    is_heard: bool = False
    """Whether a thread hears Ctrl-C."""
    before: Callable[..., Any] = staticmethod(signal.default_int_handler)
    """The handler that the program had before, which is called when the block is done."""


_asked = _Asked()


# -- programs


def end_at_once(number: int = signal.SIGINT, frame: Any = None) -> None:  # noqa: ARG001
    """Ends the program with nothing but a cursor that can be seen. Files are written aside, so that none is damaged."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed and stream.isatty():
            os.write(stream.fileno(), _SHOW_CURSOR.encode())
    os._exit(INTERRUPTED)


def end_on_interrupt() -> None:
    """Lets Ctrl-C end the program at once, as long as there is nothing to lose: it is being loaded, or a run starts."""
    if callable(signal.getsignal(signal.SIGINT)):  # what a shell starts in the background ignores Ctrl-C
        signal.signal(signal.SIGINT, end_at_once)


@contextmanager
def hear_interrupt(*, defers: bool) -> Iterator[None]:
    """Hears Ctrl-C inside the block: the first raises an exception or is deferred, the second ends the program.

    Only in programs that Ctrl-C would otherwise end at once; in other programs, handlers stay as they are.

    Args:
        defers: Whether the first is deferred, until `check_interrupt` or a block of `defer_interrupt` is reached.
    """
    if signal.getsignal(signal.SIGINT) is not end_at_once:
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    threading.Thread(target=_listen, args=(reader,), daemon=True).start()
    if hasattr(os, "register_at_fork"):  # a child's Ctrl-C would be heard here, too
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    unraisable = sys.unraisablehook

    def end_if_lost(problem: Any) -> None:
        if isinstance(problem.exc_value, KeyboardInterrupt):  # raised where nothing can catch it
            end_at_once()
        unraisable(problem)

    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    sys.unraisablehook, _asked.is_heard = end_if_lost, True
    _asked.blocks += defers
    signal.signal(signal.SIGINT, _handle)
    try:
        yield
        check_interrupt()
    finally:
        signal.signal(signal.SIGINT, end_at_once)
        _asked.blocks -= defers
        sys.unraisablehook, _asked.is_heard, _asked.is_pressed = unraisable, False, False
        signal.set_wakeup_fd(-1)
        writer.close()


def _listen(reader: socket.socket) -> None:
    """Waits for numbers of signals, which the system writes when they come, whatever the main thread does."""
    presses = 0
    with reader:
        while number := reader.recv(1):
            presses += number[0] == signal.SIGINT
            if presses > 1:
                end_at_once()
            if number[0] == signal.SIGINT and _asked.blocks:
                _say()


# -- blocks of code


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Lets Ctrl-C take effect at the end of the block, or at once if it is pressed a second time.

    If it was pressed in a block around this one, the block is not begun.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    check_interrupt()
    with _handled(before):
        _asked.blocks += 1
        try:
            yield
        finally:
            _asked.blocks -= 1
        check_interrupt()


def check_interrupt() -> None:
    """Lets a Ctrl-C take effect that was deferred: by the usual handler, it raises KeyboardInterrupt."""
    if _asked.is_pressed:
        _asked.before(signal.SIGINT, None)


@contextmanager
def _handled(before: Callable[..., Any]) -> Iterator[None]:
    """Handles Ctrl-C inside the block, unless it is done already."""
    if before is _handle:
        yield
        return
    usual, _asked.before = _asked.before, before
    signal.signal(signal.SIGINT, _handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _asked.before, _asked.is_pressed = usual, False


def _handle(number: int, frame: Any) -> None:
    """The handler of Ctrl-C, which Python calls in the main thread, after what is being executed there."""
    if _asked.is_pressed or not _asked.blocks:
        _asked.before(number, frame)
    _asked.is_pressed = True
    if not _asked.is_heard:
        _say()


def _say() -> None:
    print("\nstopping after this chunk; Ctrl-C again to stop at once", file=sys.stderr, flush=True)
