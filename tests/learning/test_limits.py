"""Limits of time hold, and no solver is left behind when a program ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from learning.written_traces import NAMES, SINGLE, goal
from rewardmachines.learning import (
    Budget,
    HierarchyOracle,
    Learned,
    Learner,
    Progress,
    Solvers,
    TimedOut,
    ask_until_right,
    induce,
    learning_task,
)
from rewardmachines.library import task
from rewardmachines.traces import Trace


def _hard() -> list[Trace]:
    truth = task("craftworld", "book-quill")
    with Solvers(cores=1) as solvers:
        oracle = HierarchyOracle(truth, SINGLE)
        found = ask_until_right(Learner(solvers), learning_task(oracle.goal_traces(), NAMES), oracle, Budget(seconds=3))
    return list(found.task.traces)


def _solvers_of(program: int) -> int:
    """How many solver processes a program has; they carry its number in their arguments."""
    listing = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return sum(f"learning/worker.py {program} " in line for line in listing.splitlines())


def test_time_limits_hold_and_no_process_is_left() -> None:
    traces = _hard()
    started = time.monotonic()
    result = induce(traces, NAMES, timeout=1.0)
    assert isinstance(result, (TimedOut, Learned))
    assert time.monotonic() - started < 10
    assert result.refuted
    if isinstance(result, TimedOut):
        assert result.bound == max(result.refuted) + 1
        assert result.reason == "time"
    assert _solvers_of(os.getpid()) == 0


def test_a_solver_that_is_killed_is_noticed() -> None:
    from rewardmachines.learning.limits import BudgetExceeded, SearchLimits
    from rewardmachines.learning.solvers import Question

    with Solvers(cores=1, memory=200_000_000) as solvers:
        pigeons = _pigeonholes(11)
        with pytest.raises(BudgetExceeded, match=r"time|memory"):
            solvers.decide(Question(pigeons), SearchLimits(2))
    assert isinstance(solvers, Solvers)


def test_time_limits_hold_while_a_machine_is_made_smaller_and_the_best_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewardmachines.learning import solvers as module
    from rewardmachines.learning.limits import BudgetExceeded, SearchLimits
    from rewardmachines.learning.solvers import Question

    monkeypatch.setattr(module, "EFFORT", 10**9)  # on a fast machine the usual effort is over before the time is
    hard = _pigeonholes(11)
    free = max(abs(literal) for clause in hard for literal in clause)
    relaxed = [[*clause, free + 1 + i] for i, clause in enumerate(hard)]
    started = time.monotonic()
    with Solvers(cores=1) as solvers, pytest.raises(BudgetExceeded) as exceeded:
        solvers.optimize(Question(relaxed, [], [range(free + 1, free + 1 + len(hard))]), SearchLimits(2))
    assert time.monotonic() - started < 6
    assert exceeded.value.model is not None


def _pigeonholes(holes: int) -> list[list[int]]:
    """Too many pigeons: no solver finds this easy."""
    var = {(p, h): p * holes + h + 1 for p in range(holes + 1) for h in range(holes)}
    clauses = [[var[p, h] for h in range(holes)] for p in range(holes + 1)]
    for h in range(holes):
        clauses += [[-var[p, h], -var[q, h]] for p in range(holes + 1) for q in range(p)]
    return clauses


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
def test_a_program_that_is_stopped_leaves_no_solver_behind(signal_number: signal.Signals) -> None:
    script = (
        "from rewardmachines.learning.limits import SearchLimits; from rewardmachines.learning.solvers import *\n"
        f"clauses = {_pigeonholes(11)}\n"
        "print('started', flush=True)\n"
        "with Solvers(cores=1) as s: s.decide(Question(clauses), SearchLimits(60))\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdout is not None
        program.stdout.readline()
        _wait_until(lambda: _solvers_of(program.pid) > 0)
        program.send_signal(signal_number)
        assert program.wait(30) != 0
    _wait_until(lambda: _solvers_of(program.pid) == 0)


def _wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_progress_is_told() -> None:
    seen: list[Progress] = []
    induce([goal("a b")], watch=seen.append)
    assert seen[0].states == 2
    assert all(p.traces == 1 for p in seen)
