"""A machine that changes in a chunk has everything to show again: returns of the one before count for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lhrm.toy import SMALL, TOY, TREES
from rewardmachines.core.machine import Edge, machine
from rewardmachines.core.text import parse_formula
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.ending import is_over
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.lhrm.setbacks import Cause
from rewardmachines.lhrm.side_by_side import RunsSideBySide
from rewardmachines.lhrm.worlds.compiled import CompiledDriver, CompiledWorlds
from rewardmachines.lhrm.worlds.together import Lanes
from rewardmachines.runs.budget import EVALUATIONS, Budget

ENOUGH = 0.95
CONFIG = replace(SMALL, agent=replace(SMALL.agent, evaluate_every=1), explores_with=Exploration.PROPOSITIONS)
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


def alone(run: Lhrm) -> Advance:
    return run.advance


def side_by_side(run: Lhrm) -> Advance:
    together = RunsSideBySide([run])
    return lambda: together.advance()[0]


def evaluation(wanted: Any) -> Any:
    """The returns of policies that always reach the goal; 0 for tasks that are not evaluated."""
    return np.asarray(wanted, float)[:, None]


@pytest.fixture(autouse=True)
def perfect_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompiledDriver, "evaluate", lambda _self, _knowledge, _agent, wanted, _seed: evaluation(wanted))
    monkeypatch.setattr(Lanes, "evaluate", lambda _self, _driver, runs: [evaluation(asked.wanted) for asked in runs])


@pytest.mark.parametrize("how", [alone, side_by_side])
def test_returns_of_the_machine_before_are_not_those_of_the_new_one(how: Callable[[Lhrm], Advance]) -> None:
    with Solvers(cores=1) as solvers:
        run = Lhrm(CompiledWorlds(TOY, tuple(TREES)), CONFIG, solvers)
        advance = how(run)
        while len(run.pool.learned) < len(TREES) or not run.is_done(ENOUGH):
            advance()
            assert run.tally.chunks < 300
        run.machines.pool = run.pool.with_machine(TOO_MUCH)
        run._equipment = None
        while "fetch" not in (causes := causes_of(row := advance())):
            assert row.chunk < 300
    fetch, press = map(run.tasks.index, ("fetch", "press"))
    assert causes["fetch"] is Cause.COUNTEREXAMPLE
    assert row.returns is not None
    assert row.returns[fetch] == (0.0,)
    assert row.returns[press] == (1.0,), "what did not change is evaluated"
    assert row.running[fetch] == 0
    assert run.curriculum.level == 1
    assert np.mean(run.recent, axis=(0, 2))[[fetch, press]].tolist() == [0.0, 1.0]
    assert not is_over(run, Budget(), ENOUGH, 0.0)
    for _ in range(EVALUATIONS):
        advance()
    assert np.mean(run.recent, axis=(0, 2))[fetch] == 1, "the new machine is judged by its own returns"


def causes_of(row: Row) -> dict[str, Cause]:
    """Why machines changed in a chunk."""
    return {event.task: event.cause for event in row.learned}


def test_a_task_that_calls_a_machine_changes_with_it() -> None:
    with Solvers(cores=1) as solvers:
        run = Lhrm(CompiledWorlds(TOY, tuple(TREES)), CONFIG, solvers)
        run.machines.pool = Pool(run.worlds.tasks, run.worlds.propositions, {n: TREES[n][n] for n in TREES})
    assert run._tasks_with({"fetch"}).tolist() == [name in ("fetch", "all") for name in run.tasks]
    assert run._tasks_with({"all"}).tolist() == [name == "all" for name in run.tasks]
    assert not run._tasks_with(set()).any()
