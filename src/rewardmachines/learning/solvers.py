"""Solver processes: started when first needed, kept for the next question, killed when time is up."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NoReturn

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import worker

SCRIPT: Final = Path(__file__).with_name("worker.py")
QUICK_SOLVER: Final = "glucose42"
"""Three times as fast as CaDiCaL on easy questions, five times as slow on hard ones."""
RIVALS: Final = ("cadical195", "cadical153", "glucose42", "maplechrono")
QUICK_CONFLICTS: Final = 5_000
"""What a question may take before it is sent to a process that can be killed: some hundredths of a second."""
EFFORT: Final = 20_000
"""Conflicts that an attempt to do with one edge or literal less may take; without success it counts as not proved."""
PATIENCE: Final = 0.5
"""Seconds before a second solver is set on the same question."""


class BudgetExceeded(Exception):
    """Time or memory ran out; `model` is the best solution that was found."""

    def __init__(self, reason: str, model: list[int] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.model = model


@dataclass(frozen=True)
class Question:
    """Is there a solution, and if groups are given, the one with the fewest of each group true, in order?"""

    clauses: Sequence[Sequence[int]]
    phases: Sequence[int] = ()
    groups: Sequence[Sequence[int]] = ()


@dataclass
class Answer:
    """`model` is None if there is no solution; `proved` counts the groups that are minimal for certain."""

    model: list[int] | None = None
    proved: int = 0
    is_complete: bool = field(default=False, repr=False)


class _Process(subprocess.Popen[bytes]):
    """A solver process, and what it has said of a line that is not complete yet."""

    _begun = b""

    def lines(self) -> list[bytes] | None:
        """The lines that have arrived; None if nothing more will come."""
        assert self.stdout is not None
        chunk = os.read(self.stdout.fileno(), 1 << 20)
        if not chunk:
            return None
        *complete, self._begun = (self._begun + chunk).split(b"\n")
        return complete

    def send(self, data: bytes) -> None:
        """All of it, however long it is."""
        assert self.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self.stdin.write(view) :]


class Solvers:
    """As many solver processes as there are cores to use; a context manager, so that none is left behind."""

    def __init__(self, *, cores: int | None = None, memory: int | None = None) -> None:
        self._cores = max(1, min(len(RIVALS), cores or os.cpu_count() or 1))
        self._memory = memory or 0
        self._processes: list[_Process] = []

    def __enter__(self) -> Solvers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for process in list(self._processes):
            self._kill(process)

    def decide(
        self, question: Question, deadline: float | None, tick: Callable[[], None] = lambda: None
    ) -> list[int] | None:
        """Whether there is a solution; who is first among the solvers answers."""
        return self._ask(question, deadline, tick, rivals=self._cores).model

    def optimize(self, question: Question, deadline: float | None, tick: Callable[[], None] = lambda: None) -> Answer:
        """The best solution, by one solver alone: the answer depends on the question only."""
        return self._ask(question, deadline, tick, rivals=1)

    def _ask(self, question: Question, deadline: float | None, tick: Callable[[], None], *, rivals: int) -> Answer:
        request = _Request(question)
        running: dict[_Process, Answer] = {}
        started = time.monotonic()
        try:
            with selectors.DefaultSelector() as selector:
                while True:
                    if len(running) < rivals and (not running or time.monotonic() - started > PATIENCE * len(running)):
                        self._set_on(request, running, selector)
                    for key, _ in selector.select(_pause(deadline)):
                        process: _Process = key.data
                        if self._read(process, running[process]):
                            return running.pop(process)
                    tick()
                    if deadline is not None and time.monotonic() > deadline:
                        raise BudgetExceeded("time", _best(running.values()))
        finally:
            for process in running:
                self._kill(process)

    def _set_on(self, request: _Request, running: dict[_Process, Answer], selector: selectors.BaseSelector) -> None:
        idle = [p for p in self._processes if p not in running]
        process = idle[0] if idle else self._start()
        request.send(process, RIVALS[len(running)])
        running[process] = Answer()
        assert process.stdout is not None
        selector.register(process.stdout, selectors.EVENT_READ, process)

    def _start(self) -> _Process:
        process = _Process(
            [sys.executable, str(SCRIPT), str(os.getpid()), str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._processes.append(process)
        return process

    def _read(self, process: _Process, answer: Answer) -> bool:
        """Takes in what has arrived; whether it was the end of the answer."""
        lines = process.lines()
        if lines is None:
            self._mourn(process, answer)
        for line in lines or ():
            message: dict[str, Any] = json.loads(line)
            if "done" in message:
                answer.proved, answer.is_complete = message["proved"], True
                return True
            answer.model = message["model"]
        return False

    def _mourn(self, process: _Process, answer: Answer) -> NoReturn:
        code = process.wait()
        self._processes.remove(process)
        if self._memory:
            raise BudgetExceeded("memory", answer.model)
        raise RewardMachineError(f"a solver ended unexpectedly (status {code}): is python-sat installed?")

    def _kill(self, process: _Process) -> None:
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()
        if process in self._processes:
            self._processes.remove(process)


def quick(question: Question) -> Answer | None:
    """The answer, if it takes next to no time: most questions are easy, and not worth a message to a process.

    How hard is too hard is a number of conflicts, not of seconds, so who answers depends on the question alone.
    """
    found = Answer()

    def say(message: dict[str, Any]) -> None:
        if "done" in message:
            found.proved, found.is_complete = message["proved"], True
        else:
            found.model = message["model"]

    request = {"solver": QUICK_SOLVER, "phases": question.phases, "groups": question.groups, "effort": EFFORT}
    try:
        worker.answer(request, question.clauses, say, conflicts=QUICK_CONFLICTS)
    except worker.OutOfConflicts:
        return None
    except ImportError:
        raise RewardMachineError("learning needs python-sat: pip install python-sat") from None
    return found


class _Request:
    """A question in the form in which it is sent."""

    def __init__(self, question: Question) -> None:
        integers = array("i")
        for clause in question.clauses:
            integers.extend(clause)
            integers.append(0)
        self._data = integers.tobytes()
        self._head = {
            "integers": len(integers),
            "phases": list(question.phases),
            "groups": [list(group) for group in question.groups],
            "effort": EFFORT,
        }

    def send(self, process: _Process, solver: str) -> None:
        process.send(json.dumps({**self._head, "solver": solver}).encode() + b"\n" + self._data)


def _best(answers: Iterable[Answer]) -> list[int] | None:
    return next((answer.model for answer in answers if answer.model is not None), None)


def _pause(deadline: float | None) -> float:
    left = float("inf") if deadline is None else deadline - time.monotonic()
    return max(0.0, min(0.1, left))
