"""A machine of a lower level that is wrong where its policies never go is found out by the task that calls it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lhrm.toy import LABELS, SMALL, TOY, TWO_ROOMS
from rewardmachines.core.equivalence import difference
from rewardmachines.core.machine import machine
from rewardmachines.learning import Solvers
from rewardmachines.lhrm import suspects
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration
from rewardmachines.rollout.jax_driver import JaxDriver, JaxSuite
from rewardmachines.runs.stopping import is_learned

TASKS = {"both": "k & b", "all": "both ; g"}
ROOMS = replace(TOY, domain=replace(TWO_ROOMS, task_set=replace(TWO_ROOMS.task_set, tasks=TASKS)))
TREES = {name: ROOMS.task(name) for name in TASKS}
ONE_ORDER = machine("both", [("u0", "u1", "k"), ("u1", "uA", "b")])
"""Wrong for an agent that presses the button first, which no policy does."""
CONFIG = replace(
    SMALL,
    agent=replace(
        SMALL.agent,
        exploration=replace(SMALL.agent.exploration, last=0.0),
        calls=replace(SMALL.agent.calls, exploration=replace(SMALL.agent.calls.exploration, last=0.0)),
    ),
    explores_with=Exploration.PROPOSITIONS,
    detour_rate=0.004,
)


def begun_with_a_wrong_machine(monkeypatch: pytest.MonkeyPatch) -> Lhrm:
    """A run whose policies are good, whose lower machine knows one order only, and whose higher task fails."""
    run = Lhrm(JaxSuite(ROOMS, tuple(TASKS)), CONFIG, Solvers(cores=1))
    while len(run.pool.learned) < len(TASKS) or not is_learned(run, 0.95):
        run.advance()
        assert run.counters.chunks < 400
    run.machines.pool = run.pool.with_machine(ONE_ORDER)
    run.progress["all"] = replace(run.progress["all"], calls=suspects.MANY_CALLS + 1)
    run._built = None
    higher = run.tasks.index("all")
    monkeypatch.setattr(Lhrm, "is_due", True)

    def evaluate(_self: Any, _tables: Any, _agent: Any, wanted: Any, _seed: int) -> Any:
        returns = np.asarray(wanted, float)[:, None]
        returns[higher] = 0
        return returns, 7 * returns

    monkeypatch.setattr(JaxDriver, "evaluate", evaluate)
    return run


def wrong(run: Lhrm) -> set[str]:
    """The tasks whose machines are not the true ones."""
    return {n for n, tree in TREES.items() if difference(run.pool.hierarchy(n), tree, labels=LABELS, events=True)}


def test_suspect_machines_are_refuted_and_those_that_call_them_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun_with_a_wrong_machine(monkeypatch)
    assert wrong(run) == {"both", "all"}
    for _ in range(10):
        run.advance()
    assert wrong(run) == set()


def test_without_suspicion_policies_that_succeed_never_meet_the_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun_with_a_wrong_machine(monkeypatch)
    monkeypatch.setattr(suspects, "MANY_CALLS", 10**9)
    for _ in range(20):
        run.advance()
    assert wrong(run) == {"both", "all"}
