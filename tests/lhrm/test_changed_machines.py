"""A machine that changes in a chunk has everything to show again: returns of the one before count for nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lhrm.toy import TOY, TREES, quickly
from rewardmachines.core.machine import Edge, machine
from rewardmachines.core.text import parse_formula
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.rollout.algorithm import EVALUATIONS, RunsSideBySide
from rewardmachines.rollout.gym_driver import GymDriver, GymSuite, GymTask
from rewardmachines.rollout.jax_driver import JaxDriver, JaxSuite
from rewardmachines.rollout.lanes import Lanes
from rewardmachines.rollout.rows import Row, Trigger
from rewardmachines.runs.stopping import is_learned
from rollout.rooms import MAX_STEPS, ROUTES, maker

ENOUGH = 0.95
CONFIG = quickly(explores_with=Exploration.PROPOSITIONS)
TOO_MUCH = machine(
    "fetch",
    [
        Edge("u0", "u1", parse_formula("k")),
        Edge("u0", "u2", parse_formula("g & !k")),
        Edge("u1", "uA", parse_formula("b")),
        Edge("u2", "uA", parse_formula("b")),
    ],
)
"""Wrong where greedy policies do not go: it also accepts g ; b."""

Advance = Callable[[], Row]


def compiled(stack: ExitStack) -> Lhrm:
    return Lhrm(JaxSuite(TOY, tuple(TREES)), CONFIG, stack.enter_context(Solvers(cores=1)))


def gymnasium(stack: ExitStack) -> Lhrm:
    tasks = [GymTask(name, 1, maker(route), 1) for name, route in ROUTES.items()]
    suite = GymSuite(tasks, max_steps=MAX_STEPS, seed=0)
    stack.callback(suite.close)
    return Lhrm(suite, replace(CONFIG, goals=(3,), examples=2), stack.enter_context(Solvers(cores=1)))


def alone(run: Lhrm) -> Advance:
    return run.advance


def side_by_side(run: Lhrm) -> Advance:
    together = RunsSideBySide([run, Lhrm(run.suite, CONFIG, Solvers(cores=1), seed=1)])
    return lambda: together.advance([0])[0]


def evaluation(wanted: Any) -> tuple[Any, Any]:
    """Returns and lengths of policies that always reach the goal; 0 for tasks that are not evaluated."""
    returns = np.asarray(wanted, float)[:, None]
    return returns, 7 * returns


@pytest.fixture(autouse=True)
def perfect_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every chunk, policies are evaluated that always reach the goal."""
    monkeypatch.setattr(Lhrm, "is_due", True)
    for driver in (JaxDriver, GymDriver):
        monkeypatch.setattr(driver, "evaluate", lambda _self, _tables, _agent, wanted, _seed: evaluation(wanted))
    monkeypatch.setattr(Lanes, "evaluate", lambda _self, _driver, runs: [evaluation(asked.wanted) for asked in runs])


@pytest.mark.parametrize(
    ("world", "how"), [(compiled, alone), (compiled, side_by_side), (gymnasium, alone)], ids=["jax", "together", "gym"]
)
def test_returns_of_the_machine_before_are_not_those_of_the_new_one(
    world: Callable[[ExitStack], Lhrm], how: Callable[[Lhrm], Advance]
) -> None:
    with ExitStack() as stack:
        run = world(stack)
        advance = how(run)
        while len(run.pool.learned) < len(run.tasks) or not is_learned(run, ENOUGH):
            advance()
            assert run.counters.chunks < 300
        run.machines.pool = run.pool.with_machine(TOO_MUCH)
        run._built = None
        while "fetch" not in (causes := causes_of(row := advance())):
            assert row.chunk < 300
        fetch, press = map(run.tasks.index, ("fetch", "press"))
        assert causes["fetch"] is Trigger.COUNTEREXAMPLE
        assert row.returns is not None
        assert row.returns[fetch] == (0.0,)
        assert row.returns[press] == (1.0,), "what did not change is evaluated"
        assert row.running[fetch] == 0
        assert run.curriculum.level == 1
        assert np.mean(run.recent, axis=(0, 2))[[fetch, press]].tolist() == [0.0, 1.0]
        assert not is_learned(run, ENOUGH)
        for _ in range(EVALUATIONS):
            advance()
        assert np.mean(run.recent, axis=(0, 2))[fetch] == 1, "the new machine is judged by its own returns"


def causes_of(row: Row) -> dict[str, Trigger]:
    """Why machines changed in a chunk."""
    return {event.task: event.cause for event in row.learned}


def test_a_task_that_calls_a_machine_changes_with_it() -> None:
    with Solvers(cores=1) as solvers:
        run = Lhrm(JaxSuite(TOY, tuple(TREES)), CONFIG, solvers)
        run.machines.pool = Pool(run.suite.tasks, run.suite.propositions, {n: TREES[n][n] for n in TREES})
    assert run._tasks_with({"fetch"}).tolist() == [name in ("fetch", "all") for name in run.tasks]
    assert run._tasks_with({"all"}).tolist() == [name == "all" for name in run.tasks]
    assert not run._tasks_with(set()).any()


def passed_to_the_last_level(run: Lhrm, running: float) -> Lhrm:
    """The run, on its highest level, with equal running returns."""
    run.curriculum = replace(run.curriculum, level=2, running=((running,),) * len(run.tasks))
    return run


def test_a_task_that_is_not_evaluated_keeps_its_running_return() -> None:
    """One that calls a machine whose task was given up in the chunk, for instance: its level does not fall."""
    with Solvers(cores=1) as solvers:
        run = passed_to_the_last_level(Lhrm(JaxSuite(TOY, tuple(TREES)), CONFIG, solvers), 0.5)
    returns, evaluated = np.array([[1.0], [0.0], [1.0]]), np.array([True, False, True])
    run._note_returns(returns, evaluated)
    assert run.curriculum.returns[:, 0].tolist() == [0.75, 0.5, 0.75]


def test_a_run_stays_on_its_level_until_machines_are_confirmed() -> None:
    config, wanted = replace(CONFIG, confirm_episodes=10), np.ones(len(TREES), bool)
    with Solvers(cores=1) as solvers:
        run = Lhrm(JaxSuite(TOY, tuple(TREES)), config, solvers)
    run.machines.pool = Pool(run.suite.tasks, run.suite.propositions, {name: TREES[name][name] for name in TREES})
    run.curriculum = replace(run.curriculum, running=((1.0,), (1.0,), (0.0,)))
    for stood, level in ((9, 1), (1, 2)):
        run.machines.count([stood] * len(run.tasks))
        run._note_returns(np.ones((len(run.tasks), 1)), wanted)
        assert run.curriculum.level == level
