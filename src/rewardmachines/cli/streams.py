"""The standard streams, which may be closed, full, or have lost their reader."""

from __future__ import annotations

import os
import select
import sys
from io import TextIOWrapper, UnsupportedOperation


def open_streams() -> None:
    """Makes sure that there are streams, whatever the command was started with.

    A stream that was closed from the beginning leads nowhere from now on. What an encoding cannot spell, such as a name
    that is no text, is written as an escape and does not end the command.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115, it stays open
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def give_up_output() -> bool:
    """Whether standard output cannot be written to any longer; then nothing more is.

    Without that, Python would try once more at its end and complain.
    """
    try:
        descriptor = sys.stdout.fileno()
    except UnsupportedOperation:  # it is kept in memory
        return False
    if _is_writable(descriptor):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    return True


def _is_writable(descriptor: int) -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return not _has_no_reader(descriptor)


def _has_no_reader(descriptor: int) -> bool:
    """Whether the other end of a pipe is closed, which is known before anything is written to it."""
    if not hasattr(select, "poll"):  # not on Unix
        return False
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and hang-ups are always reported
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
