"""Solver processes: started when first needed, kept for the next question, killed when a limit is reached."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeAlias

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import worker
from rewardmachines.learning.clauses import Clauses
from rewardmachines.learning.limits import BudgetExceeded, ProcessorClock, Reason, SearchLimits

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
        self.clock = ProcessorClock(self.pid)
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


QUICK_SOLVER: Final = "glucose42"
"""Three times as fast as CaDiCaL on easy questions, five times as slow on hard ones."""
RIVALS: Final = ("cadical195", "cadical153", "glucose42", "maplechrono")
WEIGHING_SOLVER: Final = "glucose42"
"""The solver that MaxSAT asks many questions with assumptions."""
QUICK_CONFLICTS: Final = 5_000
"""The cost of a solver call above which a question counts as hard: some hundredths of a second."""
QUICK_INTEGERS: Final = 400_000
"""Above this size (about 100,000 clauses) even an easy question is left to a process that can be killed."""
HAS_PROCESSES: Final = sys.platform != "emscripten"
"""Whether processes can be started. In a browser the page stops what takes too long."""
EFFORT: Final = 20_000
"""Conflicts that an attempt to do with one edge or literal less may take; without success it counts as not proved."""
PATIENCE: Final = 0.5
"""Seconds before a second solver is set on the same question."""

Tick: TypeAlias = Callable[[], None]


@dataclass(frozen=True)
class Question:
    """Is there a solution, and if groups are given, the one with the fewest of each group true, in order?"""

    clauses: Clauses | Sequence[Sequence[int]]
    phases: Sequence[int] = ()
    groups: Sequence[Sequence[int]] = ()
    variables: int | None = None
    """The number of variables of a solution, those of the groups among them; all, if None."""

    @cached_property
    def integers(self) -> array[int]:
        """The clauses as they are sent."""
        return (self.clauses if isinstance(self.clauses, Clauses) else Clauses(self.clauses)).integers

    def request(self, solver: str, *, minimize: bool = True, conflicts: int | None = None) -> dict[str, Any]:
        """The request to a process; the integers follow."""
        return {
            "integers": len(self.integers),
            "solver": solver,
            "phases": list(self.phases),
            "groups": [list(group) for group in self.groups] if minimize else [],
            "variables": self.variables,
            "effort": EFFORT,
            "conflicts": conflicts,
        }


@dataclass
class Answer:
    """`model` is None if there is no solution; `proved` counts the groups that are minimal for certain."""

    model: list[Any] | None = None
    """Literals; atoms, if clingo was asked."""
    proved: int = 0
    is_complete: bool = field(default=False, repr=False)
    gave_up: bool = field(default=False, repr=False)
    is_minimized: bool = field(default=False, repr=False)
    """Whether groups were asked for."""

    def take(self, message: dict[str, Any]) -> None:
        """Takes in a message of the protocol."""
        if "done" in message:
            self.is_complete, self.gave_up = True, message.get("gave_up", False)
            self.proved = message.get("proved", 0)
        else:
            self.model = message["model"]


def _nothing() -> None:
    pass


class Solvers:
    """As many solver processes as there are cores to use; a context manager, so that none is left behind."""

    def __init__(self, *, cores: int | None = None, memory: int | None = None, easy_only: bool = False) -> None:
        """Starts no process yet.

        Args:
            cores: The number of processes at a time; None for the number of cores.
            memory: The bytes that each of them may take, if a search does not say less.
            easy_only: Whether hard questions are left: the search for an answer is then out of time at once.
        """
        self._easy_only = easy_only
        self._cores = max(1, min(len(RIVALS), cores or os.cpu_count() or 1))
        self._memory = memory or 0
        self._processes: list[SolverProcess] = []
        self._of_ended = 0.0

    @property
    def seconds(self) -> float:
        """The processor time of the calling thread and of all solver processes; the wall clock on other than Linux.

        Differences of it are the cost of searches, on a busy machine as on an idle one.
        """
        if sys.platform != "linux":
            return time.perf_counter()
        return time.thread_time() + self._of_ended + sum(process.clock.seconds() for process in self._processes)

    def __enter__(self) -> Solvers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all processes."""
        for process in list(self._processes):
            self._end(process)

    def quick(self, question: Question, limits: SearchLimits, tick: Tick = _nothing) -> Answer | None:
        """The answer of `quick`; if the question is large, from a process that can be killed, where there are any."""
        if len(question.integers) <= QUICK_INTEGERS or not HAS_PROCESSES:
            return quick(question, limits)
        request = question.request(QUICK_SOLVER, conflicts=QUICK_CONFLICTS)
        answer = self._ask([request], question.integers, limits, tick)
        return None if answer.gave_up else answer

    def decide(self, question: Question, limits: SearchLimits, tick: Tick = _nothing) -> list[int] | None:
        """Whether there is a solution, by the first solver that answers."""
        self._check_that_it_may_be_hard()
        requests = [question.request(solver, minimize=False) for solver in RIVALS[: self._cores]]
        return self._ask(requests, question.integers, limits, tick).model

    def optimize(
        self, question: Question, limits: SearchLimits, tick: Tick = _nothing, *, is_possible: bool = False
    ) -> Answer:
        """The best solution, by one solver alone: the answer depends on the question only.

        Others race it for the proof that there is none, unless it is known that there is one.
        """
        self._check_that_it_may_be_hard()
        best = question.request(RIVALS[0])
        rivals = [] if is_possible else [question.request(name, minimize=False) for name in RIVALS[1 : self._cores]]
        answer = self._ask([best, *rivals], question.integers, limits, tick)
        if answer.model is None or answer.is_minimized or not question.groups:
            return answer
        return self._ask([best], question.integers, limits, tick)  # its process died before that of a rival answered

    def run_program(
        self, program: str, arguments: Sequence[str], limits: SearchLimits, tick: Tick = _nothing
    ) -> list[str] | None:
        """The atoms of the best answer set that clingo finds, or None if there is none."""
        return self._ask([{"program": program, "arguments": list(arguments)}], b"", limits, tick).model

    def identify(
        self,
        requests: Sequence[dict[str, Any]],
        new_answer: Callable[[], Answer],
        limits: SearchLimits,
        tick: Tick = _nothing,
    ) -> Answer:
        """The first complete answer of searches for an automaton, one process for each; the others are killed."""
        return self._ask([{"words": request} for request in requests[: self._cores]], b"", limits, tick, new_answer)

    def weigh(
        self,
        question: Question,
        soft: Sequence[tuple[int, int]],
        most: int,
        new_answer: Callable[[], Answer],
        limits: SearchLimits,
        tick: Tick = _nothing,
    ) -> Answer:
        """The solution with the least weight of soft literals that are false; none, if it is more than `most`."""
        request = {
            "integers": len(question.integers),
            "solver": WEIGHING_SOLVER,
            "variables": question.variables,
            "soft": [list(one) for one in soft],
            "most": most,
        }
        return self._ask([request], question.integers, limits, tick, new_answer)

    def _ask(
        self,
        requests: Sequence[dict[str, Any]],
        data: bytes | array[int],
        limits: SearchLimits,
        tick: Tick,
        new_answer: Callable[[], Answer] = Answer,
    ) -> Answer:
        """Asks in several ways, one after the other while there is no answer.

        Raises:
            BudgetExceeded: if a limit is reached, or all processes that were asked have died.
        """
        waiting = list(requests)
        started = time.monotonic()
        with self._race(new_answer) as race:
            while True:
                asked = len(requests) - len(waiting)
                if waiting and (not race.running or time.monotonic() - started > PATIENCE * asked):
                    race.add(self._idle(race.running), waiting.pop(0), data, self._limit(limits))
                answer, reason = race.advance(min(0.1, limits.left))
                if race.is_only_to_be_minimized:
                    waiting.clear()
                    race.end_rivals()
                elif answer is not None:
                    return answer
                if reason is not None and not race.running and not waiting:
                    raise BudgetExceeded(reason)
                tick()
                limits.check()

    @contextmanager
    def _race(self, new_answer: Callable[[], Answer]) -> Iterator[_Race]:
        """A race after which only idle processes are left; the best model is in whatever exceeds a limit."""
        with selectors.DefaultSelector() as selector:
            race = _Race(selector, new_answer)
            try:
                yield race
            except BudgetExceeded as exceeded:
                raise BudgetExceeded(exceeded.reason, race.best) from None
            finally:
                for process in (*race.running, *race.dead):
                    self._end(process)

    def _check_that_it_may_be_hard(self) -> None:
        if self._easy_only:
            raise BudgetExceeded("time")

    def _limit(self, limits: SearchLimits) -> int:
        """The bytes that a process may take, or 0."""
        return min((limit for limit in (limits.memory, self._memory) if limit), default=0)

    def _idle(self, running: Iterable[SolverProcess]) -> SolverProcess:
        """A living process that is asked nothing, or a new one."""
        for process in [p for p in self._processes if p not in running]:
            if process.poll() is None:
                return process
            self._end(process)
        new = start_process(self._memory)
        if new is None:
            raise BudgetExceeded("memory")
        self._processes.append(new)
        return new

    def _end(self, process: SolverProcess) -> None:
        seconds = process.clock.seconds()
        process.end()
        if process in self._processes:
            self._of_ended += seconds
            self._processes.remove(process)


class _Race:
    """Processes that work on the same question."""

    def __init__(self, selector: selectors.BaseSelector, new_answer: Callable[[], Answer]) -> None:
        self._selector = selector
        self._new_answer = new_answer
        self.running: dict[SolverProcess, Answer] = {}
        self.dead: list[SolverProcess] = []
        self.best: list[Any] | None = None
        """The last solution that a process reported."""

    def add(self, process: SolverProcess, request: dict[str, Any], data: bytes | array[int], memory: int) -> None:
        """Sets a process on the question."""
        process.begin(request, data, memory)
        answer = self.running[process] = self._new_answer()
        answer.is_minimized = bool(request.get("groups"))
        self._selector.register(process.requests, selectors.EVENT_WRITE, process)
        self._selector.register(process.answers, selectors.EVENT_READ, process)

    @property
    def is_only_to_be_minimized(self) -> bool:
        """Whether there is a solution, and a process still looks for the best one."""
        return self.best is not None and any(answer.is_minimized for answer in self.running.values())

    def end_rivals(self) -> None:
        """Leaves out the processes that only look for some solution."""
        for process in [process for process, answer in self.running.items() if not answer.is_minimized]:
            self._leave_out(process)

    def advance(self, seconds: float) -> tuple[Answer | None, Reason | None]:
        """Sends and reads what is possible: a complete answer if there is one, and why a process died if one did."""
        reason: Reason | None = None
        for key, events in self._selector.select(seconds):
            process: SolverProcess = key.data
            if process not in self.running:
                continue
            try:
                if events & selectors.EVENT_WRITE:
                    self._send(process)
                elif self._receive(process):
                    return self.running.pop(process), None
            except BrokenPipeError:
                reason = self._bury(process)
        return None, reason

    def _send(self, process: SolverProcess) -> None:
        if process.send():
            self._selector.unregister(process.requests)

    def _receive(self, process: SolverProcess) -> bool:
        """Takes in what has arrived; whether it was the end of the answer."""
        messages = process.receive()
        if messages is None:
            raise BrokenPipeError
        answer = self.running[process]
        for message in messages:
            answer.take(message)
            self.best = answer.model or self.best
        return answer.is_complete

    def _bury(self, process: SolverProcess) -> Reason:
        """Leaves a process out of the race that has died or has closed its end."""
        self._leave_out(process)
        return process.reason_of(process.status())

    def _leave_out(self, process: SolverProcess) -> None:
        for stream in (process.requests, process.answers):
            if stream in self._selector.get_map():
                self._selector.unregister(stream)
        del self.running[process]
        self.dead.append(process)


def quick(question: Question, limits: SearchLimits | None = None) -> Answer | None:
    """The answer, if it takes next to no time: most questions are easy, and not worth a message to a process.

    The bound is a number of conflicts, not of seconds, so which solver answers depends on the question alone.
    """
    result = Answer()

    def say(message: dict[str, Any]) -> None:
        result.take(message)
        if limits is not None and not result.is_complete:
            limits.check()

    try:
        worker.answer(question.request(QUICK_SOLVER), worker.clauses_of(question.integers), say, QUICK_CONFLICTS)
    except worker.OutOfConflicts:
        return None
    except BudgetExceeded as exceeded:
        raise BudgetExceeded(exceeded.reason, result.model) from None
    except ImportError:
        raise RewardMachineError("learning needs python-sat: pip install python-sat") from None
    return result
