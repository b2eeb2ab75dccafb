"""A learner of machines that only the tests know: LHRM takes it as it takes its own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lhrm.toy import LABELS, MAX_STEPS, TOY, TREES, TWO_ROOMS, quickly, two_rooms_registered
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.flattening import flatten
from rewardmachines.learning import Budget, Certificate, Learned, LearningTask, Result, Solvers, Unsatisfiable
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.runs.stopping import is_learned
from rewardmachines.runs.verbs import learn

TASKS = tuple(TREES)
ENOUGH = 0.95


class FlatLearner:
    """Knows a machine of every task, and flattens it; it is asked often, and searches nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def learn(self, task: LearningTask, budget: Budget, refuted: Collection[int] = ()) -> Result:
        assert not refuted
        self.asked.append(task.name)
        whole = flatten(TREES[task.name])
        root = replace(whole[whole.root], name=task.name)
        return Learned(root, task.hierarchy(root), Certificate((), False, False), 0.0, 1)


class Helpless:
    """Finds nothing."""

    def learn(self, task: LearningTask, budget: Budget, refuted: Collection[int] = ()) -> Result:
        return Unsatisfiable(len(refuted), (), 0.0, 1)


class Forgetful:
    """Calls every machine the same."""

    def learn(self, task: LearningTask, budget: Budget, refuted: Collection[int] = ()) -> Result:
        return FlatLearner().learn(replace(task, name="fetch"), budget, refuted)


def test_flat_machines_of_another_learner_are_followed_on_all_levels() -> None:
    learner = FlatLearner()
    run = Lhrm(JaxSuite(TOY, TASKS), quickly(), Solvers(cores=1), learner=learner)
    while not is_learned(run, ENOUGH):
        run.advance()
        assert run.counters.chunks < 400
    assert learner.asked == list(TASKS) or learner.asked == ["press", "fetch", "all"]
    for name, tree in TREES.items():
        assert not run.pool.learned[name].callees
        assert difference(run.pool.hierarchy(name), tree, labels=LABELS, events=True) is None
        assert (run.progress[name].calls, run.progress[name].refuted) == (1, ())


def test_a_folder_is_learned_with_another_learner_and_goes_on_with_it(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"settings": quickly(), "instances": 1, "max_steps": MAX_STEPS}
    learner = FlatLearner()
    with two_rooms_registered():
        learn(TWO_ROOMS.name, folder=tmp_path / "run", steps=2_000, learner=learner, **asked)
        refused: list[tuple[dict[str, Any], str]] = [
            ({}, "begun with the learner 'FlatLearner', which is not known here: register it, or give it again"),
            ({"learner": Helpless()}, "learner is FlatLearner, not Helpless"),
            ({"learner": "exact"}, "learner is FlatLearner, not exact"),
        ]
        for options, message in refused:
            with pytest.raises(RewardMachineError, match=message):
                learn(folder=tmp_path / "run", resume=True, steps=12_000, **options)
        run = learn(folder=tmp_path / "run", resume=True, steps=12_000, learner=learner)
        machines = run.machines
    assert learner.asked
    for name in set(learner.asked):
        assert difference(machines[name], TREES[name], labels=LABELS, events=True) is None


def test_a_task_is_given_up_if_another_learner_finds_no_machine() -> None:
    run = Lhrm(JaxSuite(TOY, TASKS), quickly(), Solvers(cores=1), learner=Helpless())
    while not run.is_stuck:
        run.advance()
        assert run.counters.chunks < 100
    for name in TASKS:
        assert f"{name}: no machine with at most 0 states" in str(run.progress[name].problem)


def test_a_machine_of_another_name_is_not_taken() -> None:
    run = Lhrm(JaxSuite(TOY, TASKS), quickly(), Solvers(cores=1), learner=Forgetful())
    with pytest.raises(RewardMachineError, match="asked for a machine 'press', not 'fetch'"):
        advance_often(run)


def advance_often(run: Lhrm) -> None:
    for _ in range(100):
        run.advance()
