"""Solver processes that die, hang or are killed: a clear result each time, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Budget, Learned, Learner, Solvers, TimedOut, learning_task, worker
from rewardmachines.learning import solvers as module
from rewardmachines.learning.limits import BudgetExceeded, SearchLimits
from rewardmachines.learning.solvers import Question
from rewardmachines.traces import Outcome, Trace

TASK = learning_task(
    [Trace((frozenset("a"), frozenset("b")), Outcome.GOAL), Trace((frozenset("b"), frozenset("a")))],
)


def pigeonholes(holes: int) -> Question:
    """Too many pigeons: no solver finds this easy."""
    var = {(p, h): p * holes + h + 1 for p in range(holes + 1) for h in range(holes)}
    clauses = [[var[p, h] for h in range(holes)] for p in range(holes + 1)]
    for h in range(holes):
        clauses += [[-var[p, h], -var[q, h]] for p in range(holes + 1) for q in range(p)]
    return Question(clauses)


@pytest.fixture(scope="module")
def long_question() -> Question:
    """More than fits into a pipe: it is still being sent when a process that does not read it is killed.

    Made when it is needed, and forgotten: it takes 300 mebibytes.
    """
    return Question([[i, -i - 1] for i in range(1, 2_000_000)])


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    """Solver processes carry the number of their program in their arguments."""
    yield
    listing = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"worker.py {os.getpid()} " not in listing


@pytest.fixture
def replace_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Lets other code run in solver processes, and leaves all questions to them."""

    def replace(code: str) -> None:
        script = tmp_path / "worker.py"
        script.write_text("import os, signal, sys, time\n" + code)
        monkeypatch.setattr(module, "SCRIPT", script)
        monkeypatch.setattr(module, "QUICK_INTEGERS", 0)

    return replace


def kill_all(solvers: Solvers) -> None:
    for process in solvers._processes:
        os.kill(process.pid, signal.SIGKILL)


DIE = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (DIE, "killed"),
        (f"sys.stdin.readline(); {DIE}", "killed"),
        (f"sys.stdin.readline(); print('{{\"model\": [1]}}', flush=True); {DIE}", "killed"),
        ("os.abort()", "killed"),
        (f"sys.exit({worker.OUT_OF_MEMORY})", "memory"),
    ],
)
def test_a_solver_that_dies_ends_the_search(
    long_question: Question, replace_worker: Callable[[str], None], code: str, reason: str
) -> None:
    replace_worker(code)
    with Solvers(cores=1) as solvers:
        with pytest.raises(BudgetExceeded, match=reason):
            solvers.decide(long_question, SearchLimits(30))
        if "model" not in code:
            result = Learner(solvers).learn(TASK, Budget(seconds=30))
            assert isinstance(result, TimedOut)
            assert (result.reason, result.bound) == (reason, 2)


@pytest.mark.parametrize("code", ["sys.exit(1)", "os.abort()", f"sys.exit({worker.NOT_INSTALLED})"])
def test_with_a_memory_limit_a_solver_that_ends_had_too_little(
    long_question: Question, replace_worker: Callable[[str], None], code: str
) -> None:
    replace_worker(code)
    with Solvers(cores=1, memory=2**20) as solvers, pytest.raises(BudgetExceeded, match="memory"):
        solvers.decide(long_question, SearchLimits(30))


@pytest.mark.parametrize(
    ("status", "message"), [(worker.NOT_INSTALLED, "pip install python-sat"), (5, "ended with status 5")]
)
def test_a_solver_that_is_not_there_or_is_wrong_is_an_error(
    long_question: Question, replace_worker: Callable[[str], None], status: int, message: str
) -> None:
    replace_worker(f"sys.exit({status})")
    with Solvers(cores=1) as solvers, pytest.raises(RewardMachineError, match=message):
        solvers.decide(long_question, SearchLimits(30))


def test_a_solver_killed_while_its_question_is_sent_ends_the_search(
    long_question: Question, replace_worker: Callable[[str], None]
) -> None:
    replace_worker("time.sleep(60)")
    with Solvers(cores=1) as solvers, pytest.raises(BudgetExceeded, match="killed"):
        solvers.decide(long_question, SearchLimits(30), lambda: kill_all(solvers))


def test_a_solver_killed_while_it_searches_ends_the_search() -> None:
    started = time.monotonic()

    def kill_later() -> None:
        if time.monotonic() > started + 0.5:
            kill_all(solvers)

    with Solvers(cores=1) as solvers, pytest.raises(BudgetExceeded, match="killed"):
        solvers.decide(pigeonholes(11), SearchLimits(30), kill_later)


def test_a_time_limit_holds_when_a_question_is_not_even_read(
    long_question: Question, replace_worker: Callable[[str], None]
) -> None:
    replace_worker("time.sleep(60)")
    started = time.monotonic()
    with Solvers(cores=1) as solvers, pytest.raises(BudgetExceeded, match="time"):
        solvers.decide(long_question, SearchLimits(1))
    assert time.monotonic() - started < 20


def test_another_solver_answers_when_the_first_is_killed() -> None:
    killed: list[int] = []

    def kill_once() -> None:
        if not killed and solvers._processes:
            killed.append(solvers._processes[0].pid)
            kill_all(solvers)

    with Solvers(cores=2) as solvers:
        assert solvers.decide(pigeonholes(8), SearchLimits(60), kill_once) is None
    assert killed


ANSWER_IN_PARTS = """
import json
def say(content):
    print(json.dumps(content), flush=True)
while line := sys.stdin.buffer.readline():
    request = json.loads(line)
    sys.stdin.buffer.read(4 * request["integers"])
    if request["groups"]:
        {minimizing}
        say({{"model": [-1]}})
        say({{"done": True, "proved": 1}})
    else:
        say({{"model": [1]}})
        say({{"done": True}})
"""


@pytest.mark.parametrize(
    "minimizing",
    [
        "time.sleep(0.3)",
        "say({'model': [1]}); time.sleep(0.3)",
        f"os.path.exists(sys.argv[0] + '.died') or (open(sys.argv[0] + '.died', 'w').close(), {DIE})",
    ],
)
def test_the_best_solution_is_that_of_one_solver_whatever_others_find(
    minimizing: str, replace_worker: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_worker(ANSWER_IN_PARTS.format(minimizing=minimizing))
    monkeypatch.setattr(module, "PATIENCE", 0)
    with Solvers(cores=2) as solvers:
        answer = solvers.optimize(Question([[1, -1]], groups=[[1]]), SearchLimits(30))
    assert (answer.model, answer.proved) == ([-1], 1)


def test_a_solver_killed_between_two_searches_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUICK_INTEGERS", 0)
    with Solvers(cores=1) as solvers:
        first = Learner(solvers).learn(TASK)
        kill_all(solvers)
        while any(process.poll() is None for process in solvers._processes):
            time.sleep(0.01)
        again = Learner(solvers).learn(TASK)
    assert isinstance(first, Learned)
    assert isinstance(again, Learned)
    assert again.machine == first.machine


def test_a_system_without_room_for_a_process_is_out_of_memory(
    long_question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(12, os.strerror(12))

    monkeypatch.setattr(module, "SolverProcess", refuse)
    with Solvers(cores=1) as solvers, pytest.raises(BudgetExceeded, match="memory"):
        solvers.decide(long_question, SearchLimits(30))


def test_the_time_of_solver_processes_counts_also_when_they_have_ended() -> None:
    with Solvers(cores=1) as solvers:
        before, own = solvers.seconds, time.thread_time()
        solvers.decide(pigeonholes(7), SearchLimits())
        spent, own = solvers.seconds - before, time.thread_time() - own
        assert spent > own + 0.01
        solvers.close()
        assert solvers.seconds - before >= spent
