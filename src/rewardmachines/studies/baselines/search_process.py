"""A process for searches, which can be killed at any moment, and the processor time that searches have taken."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning.limits import ProcessorClock
from rewardmachines.learning.worker import die_with_parent
from rewardmachines.studies.baselines.protocol import OutOfTime, Plain

_LOOK: Final = 0.2
"""Seconds between two looks at the clock of the process."""
_COMMAND: Final = "from rewardmachines.studies.baselines.search_process import serve; serve()"


class Searches:
    """The searches of a run, one at a time: an `Ask` that counts them. One process serves all; it must be closed."""

    def __init__(self, limit: float, seconds: float = 0.0, calls: int = 0) -> None:
        """Starts no process yet.

        Args:
            limit: The processor time that all searches together may take, in seconds.
            seconds: The processor time that they have taken so far.
            calls: The number of searches so far.
        """
        self.limit, self.seconds, self.calls = limit, seconds, calls
        self._process: _Process | None = None

    def __call__(self, search: Callable[[Plain], Plain], problem: Plain) -> Plain:
        """See `Ask`."""
        if self._process is None:
            self._process = _Process()
        request = json.dumps([search.__module__, search.__qualname__, problem])
        clock = self._process.clock
        began = clock.seconds()  # the start of the process does not count
        try:
            answer = self._process.ask(request, self.limit - self.seconds)
        except queue.Empty:
            self.close()
            raise OutOfTime from None
        except BaseException:
            self.close()  # an answer that comes later must not be taken for one to the next question
            raise
        finally:
            self.seconds += clock.seconds() - began
        self.calls += 1
        return answer

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.end()
            self._process = None


class _Process:
    """A Python process that runs `serve`. A thread collects its answers, so that one can wait for a limited time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603, this package and nothing else
            [sys.executable, "-c", _COMMAND, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin
        self.clock = ProcessorClock(self._process.pid)
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_collect, args=(self._process.stdout, self._answers), daemon=True).start()
        self._answers.get()  # it has started

    def ask(self, request: str, seconds: float) -> Plain:
        """The answer to a request.

        Raises:
            queue.Empty: There is none within that processor time.
        """
        if seconds <= 0:
            raise queue.Empty
        with contextlib.suppress(BrokenPipeError):  # then there will be no answer, either
            self._requests.write(request + "\n")
            self._requests.flush()
        answer = self._wait(self.clock.seconds() + seconds)
        if not answer:
            raise RewardMachineError("the process that searches for machines has ended before it had an answer")
        return json.loads(answer)

    def _wait(self, end: float) -> str:
        """The next line of the process. Its clock stands still while other programs have the core."""
        answer: str | None = None
        while answer is None:
            with contextlib.suppress(queue.Empty):
                answer = self._answers.get(timeout=_LOOK)
            if answer != "" and self.clock.seconds() > end:  # also when the answer came since the last look
                raise queue.Empty
        return answer

    def end(self) -> None:
        """Kills the process, and waits until it is gone."""
        self._process.kill()
        with contextlib.suppress(OSError):
            self._requests.close()
        self._process.wait()


def _collect(lines: IO[str], answers: queue.Queue[str]) -> None:
    """Passes lines on as they come, and an empty text at their end."""
    with lines:
        for line in lines:
            answers.put(line)
    answers.put("")


def serve() -> None:
    """Answers requests until there are no more: a line of JSON each, with a module, a function and its argument.

    The process is given the id of the one that asks as its argument, and ends with it.
    """
    die_with_parent(int(sys.argv[1]))
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a search prints is no answer
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        module, function, problem = json.loads(line)
        print(json.dumps(getattr(importlib.import_module(module), function)(problem)), file=answers, flush=True)
