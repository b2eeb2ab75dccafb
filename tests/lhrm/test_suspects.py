"""Machines that are suspect when a task that calls them keeps being refuted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rewardmachines.core.machine import machine
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.curriculum import Curriculum, curriculum
from rewardmachines.lhrm.induction import Machines
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.lhrm.suspects import MANY_CALLS, suspect_tasks
from rewardmachines.lhrm.tables import drawing_chances
from rewardmachines.rollout.suite import TaskSpec

TASKS = (TaskSpec("deep", 1), TaskSpec("low", 1), TaskSpec("other", 1), TaskSpec("mid", 2), TaskSpec("high", 3))
LEARNED = {
    "deep": machine("deep", [("u0", "uA", "a")]),
    "low": machine("low", [("u0", "uA", "b")]),
    "other": machine("other", [("u0", "uA", "c")]),
    "mid": machine("mid", [("u0", "u1", "true", "deep"), ("u1", "uA", "b")]),
    "high": machine("high", [("u0", "u1", "true", "low"), ("u1", "uA", "true", "mid")]),
}
DETOURS = LhrmConfig(detour_rate=0.01)
TOP = replace(curriculum([task.level for task in TASKS], 2, weight=0.9, threshold=0.5), level=3)


def searched(calls: int, task: str = "high", config: LhrmConfig = DETOURS) -> Machines:
    """Machines of which one took a number of calls of the solver."""
    run = Machines(Pool(TASKS, ("a", "b", "c"), LEARNED), config, Solvers(cores=1), {})
    run.progress[task] = replace(run.progress[task], calls=calls)
    return run


def names(run: Machines, plan: Curriculum = TOP, config: LhrmConfig = DETOURS) -> set[str]:
    return {TASKS[number].name for number in suspect_tasks(run, plan, config)}


def test_after_many_calls_everything_below_is_suspect_and_nothing_else() -> None:
    assert names(searched(MANY_CALLS)) == set()
    assert names(searched(MANY_CALLS + 1)) == {"deep", "low", "other", "mid"}, "all that it may call"
    assert names(searched(MANY_CALLS + 1, task="mid")) == {"deep", "low", "other"}
    assert names(searched(MANY_CALLS + 1, task="low")) == set()


def test_machines_are_suspect_until_returns_are_good_and_only_while_the_task_is_trained_on() -> None:
    returns = TOP.returns
    returns[4] = [0.6, 0.5]
    assert names(searched(99), replace(TOP, running=tuple(map(tuple, returns)))) == {"deep", "low", "other", "mid"}
    returns[4] = [0.6, 0.51]
    assert names(searched(99), replace(TOP, running=tuple(map(tuple, returns)))) == set()
    assert names(searched(99), replace(TOP, level=2)) == set()
    assert names(searched(99), TOP.given_up(4)) == set()


def test_without_knowledge_of_prefixes_right_machines_take_twice_the_calls() -> None:
    config = replace(DETOURS, prefixes=False)
    assert names(searched(2 * MANY_CALLS, config=config), config=config) == set()
    assert "low" in names(searched(2 * MANY_CALLS + 1, config=config), config=config)


def test_without_detours_nothing_is_suspect() -> None:
    """As in the paper: agents would only do again what machines say."""
    plain = LhrmConfig()
    assert names(searched(99, config=plain), config=plain) == set()


def test_suspect_tasks_are_drawn_more_often() -> None:
    certain = np.asarray(drawing_chances(searched(0), TOP, DETOURS))
    suspecting = np.asarray(drawing_chances(searched(99), TOP, DETOURS))
    assert certain.sum(axis=1) == pytest.approx([0.2] * 5)
    assert suspecting.sum(axis=1) == pytest.approx([0.2 * 0.75 + 0.25 / 4] * 4 + [0.15])
