"""Everything together on a toy domain: exact machines, policies that solve their tasks, and what can go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lhrm.toy import LABELS, SMALL, TREES, quickly, toy
from rewardmachines.core.equivalence import difference
from rewardmachines.learning import Solvers
from rewardmachines.lhrm import book
from rewardmachines.lhrm.config import Callables, Exploration, LhrmConfig
from rewardmachines.lhrm.loop import Lhrm, Row
from rewardmachines.lhrm.scenarios import ScenarioGround

ENOUGH = 0.95


def run_until(run: Lhrm, stop: Callable[[Lhrm], bool], most: int = 400) -> list[Row]:
    rows = []
    while not stop(run):
        rows.append(run.advance())
        assert run.tally.chunks < most, [run.curriculum.running, run.learnings]
    return rows


def toy_run(config: LhrmConfig = SMALL, tasks: tuple[str, ...] = ("fetch", "press", "all")) -> Lhrm:
    return Lhrm(ScenarioGround(toy(), tasks, flat=config.callables is Callables.NONE), config, Solvers(cores=1))


def test_three_tasks_on_two_levels_are_learned_exactly_and_solved() -> None:
    run = toy_run()
    rows = run_until(run, lambda run: run.is_done(ENOUGH))
    assert [spec.level for spec in run.ground.tasks] == [1, 1, 2]
    for name, tree in TREES.items():
        assert difference(run.pool.hierarchy(name), tree, labels=LABELS, events=True) is None
    assert run.pool.learned["all"].callees & {"fetch", "press"}
    assert np.mean(run.recent, axis=(0, 2)).min() >= ENOUGH
    learned = [event.task for row in rows for event in row.learned]
    assert set(learned) == set(TREES)
    assert learned.index("all") > max(learned.index("fetch"), learned.index("press"))
    assert run.first["all"] <= run.tally.episodes
    assert sum(sum(row.ended) for row in rows) == run.tally.episodes


def test_equal_seeds_give_equal_rows_and_others_do_not() -> None:
    one, two = toy_run(), toy_run()
    other = Lhrm(ScenarioGround(toy(), ["fetch", "press", "all"]), SMALL, Solvers(cores=1), seed=1)
    rows, again, different = ([run.advance() for _ in range(12)] for run in (one, two, other))
    assert rows == again
    assert rows != different


def test_tables_that_are_too_small_grow_without_losing_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "OPTION_ROOM", replace(book.OPTION_ROOM, slots=2))
    run = toy_run()
    run_until(run, lambda run: run.is_done(ENOUGH))
    assert run.book.option_room.slots == 4
    assert len(run.book.slots) == 3
    for name, tree in TREES.items():
        assert difference(run.pool.hierarchy(name), tree, labels=LABELS, events=True) is None


def test_with_primitive_actions_alone_nobody_is_followed() -> None:
    run = toy_run(quickly(explores_with=Exploration.ACTIONS))
    run_until(run, lambda run: run.curriculum.level == 2)
    run.advance()
    assert not np.asarray(run.knowledge.is_guide).any()
    assert not np.asarray(run.state.workers.is_guided).any()


def test_restricted_machines_call_what_the_true_ones_call_and_all_of_it_must_be_a_task() -> None:
    run = toy_run(quickly(callables=Callables.RESTRICTED))
    assert dict(run.ground.dependencies)["all"] == ("fetch", "press")
    with pytest.raises(Exception, match="'all' may call 'fetch', which is not among the tasks"):
        toy_run(quickly(callables=Callables.RESTRICTED), ("press", "all"))
