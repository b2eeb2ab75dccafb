"""One solver process: what it is sent and what it answers, without ever waiting for it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import worker
from rewardmachines.learning.limits import Reason

SCRIPT: Final = Path(__file__).with_name("worker.py")
PORTION: Final = 1 << 20
"""Bytes that are sent or read at a time."""


class SolverProcess(subprocess.Popen[bytes]):
    """A process that runs `worker.py`, and what is still to be sent to it or has arrived of a line."""

    def __init__(self, memory: int) -> None:
        """Starts the process. The program's number is among its arguments, so that its owner is known.

        Args:
            memory: The bytes that it may take, or 0.
        """
        super().__init__(
            [sys.executable, str(SCRIPT), str(os.getpid()), str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        assert self.stdin is not None
        assert self.stdout is not None
        self.requests, self.answers = self.stdin, self.stdout
        self._unsent: list[memoryview] = []
        self._begun: list[bytes] = []
        self.memory = memory
        """The limit for the current request."""
        if sys.platform != "win32":
            os.set_blocking(self.requests.fileno(), False)

    def begin(self, head: dict[str, Any], data: bytes | array[int], memory: int) -> None:
        """Takes a request, which `send` then sends in portions."""
        line = json.dumps({**head, "memory": memory}).encode() + b"\n"
        self._unsent = [part for part in (memoryview(data).cast("B"), memoryview(line)) if part]
        self.memory = memory

    def send(self) -> bool:
        """Sends as much as the process takes at once; whether all is sent.

        Raises:
            BrokenPipeError: if the process has ended.
        """
        with contextlib.suppress(BlockingIOError):
            sent = os.write(self.requests.fileno(), self._unsent[-1][:PORTION])
            self._unsent[-1] = self._unsent[-1][sent:]
        if not self._unsent[-1]:
            self._unsent.pop()
        return not self._unsent

    def receive(self) -> list[dict[str, Any]] | None:
        """The messages that have arrived; None if the process has ended and nothing more will come."""
        chunk = os.read(self.answers.fileno(), PORTION)
        if not chunk:
            return None
        self._begun.append(chunk)
        if b"\n" not in chunk:
            return []
        *complete, rest = b"".join(self._begun).split(b"\n")
        self._begun = [rest]
        return [json.loads(line) for line in complete]

    def end(self) -> int:
        """Kills the process if it still runs, and waits until it is gone.

        Returns:
            Its exit status, negative if a signal ended it.
        """
        self.kill()
        for stream in (self.requests, self.answers):
            with contextlib.suppress(OSError):
                stream.close()
        return self.wait()

    def status(self) -> int:
        """The exit status of a process that has closed its side, and so is about to end."""
        try:
            return self.wait(1)
        except subprocess.TimeoutExpired:
            return self.end()

    def reason_of(self, status: int) -> Reason:
        """Why the process ended before its answer.

        Raises:
            RewardMachineError: if its solver is not installed, or the process has a mistake.
        """
        if status == -signal.SIGKILL:
            return "killed"
        if status == worker.OUT_OF_MEMORY or self.memory:
            return "memory"  # with a limit, a library that cannot be loaded or a solver that aborts means the same
        if status == worker.NOT_INSTALLED:
            raise RewardMachineError("the solver cannot be loaded: pip install python-sat clingo")
        if status < 0:
            return "killed"
        raise RewardMachineError(f"a solver process ended with status {status} before it had an answer")


def start_process(memory: int) -> SolverProcess | None:
    """A new process, or None if the system has no room for one.

    Raises:
        RewardMachineError: if it cannot be started for another reason.
    """
    try:
        return SolverProcess(memory)
    except OSError as problem:
        if problem.errno in (errno.ENOMEM, errno.EAGAIN):
            return None
        raise RewardMachineError(f"a solver process cannot be started: {problem.strerror}") from None
