"""LHRM in fresh instances: policies are not trained in those that are held out, whose mean return decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from lhrm.toy import quickly
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.scenarios import HELD_OUT_SEED, scenario
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.rollout.jax_driver import JaxDriver, JaxSuite
from rewardmachines.runs.config import DomainPlace
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import LearnArguments, RunOrder, carry_out, order_of
from rewardmachines.runs.run import Run, open_run
from rewardmachines.runs.verbs import learn

FRESH, HELD_OUT = 20, 3
TRAINED = set(range(HELD_OUT, HELD_OUT + FRESH))
"""The numbers of the instances that may be trained on: in the world, they come after those that are held out."""
_NETWORK = NetworkConfig(Body.FLAT, hidden=(16,))
CONFIG = replace(
    quickly(),
    threshold=0.6,
    agent=replace(
        quickly().agent,
        environments=8,
        chunk=20,
        evaluate_steps=20,
        network=_NETWORK,
        calls=replace(quickly().agent.calls, network=_NETWORK),
    ),
)
PLACE = DomainPlace("craftworld", "op", HELD_OUT, HELD_OUT_SEED, FRESH, 40)
TASKS = ("bucket", "milk-bucket")
STEPS = 12_000
"""Enough for a machine of the first task, and for no other."""


def suite(place: DomainPlace = PLACE) -> JaxSuite:
    return JaxSuite(place.scenario(CONFIG.agent.observation), TASKS)


def order(folder: Path, steps: int) -> RunOrder:
    """An order to learn in few fresh instances."""
    asked = LearnArguments("craftworld", TASKS, instances="fresh", settings=CONFIG, steps=steps)
    made = order_of(asked, RunFolder(folder), resume=False)
    return replace(made, config=replace(made.config, domain=PLACE))


def learned(folder: Path, steps: int) -> Run:
    for _ in carry_out([order(folder, steps)]):
        pass
    return open_run(folder)


class Visited(NamedTuple):
    """A run after a few chunks, and the instances that its environments were seen in."""

    run: Lhrm
    instances: set[int]


@pytest.fixture(scope="module")
def visited() -> Visited:
    with Solvers() as solvers:
        run, instances = Lhrm(suite(), CONFIG, solvers, seed=1), set[int]()
        for _ in range(6):
            run.advance()
            instances |= set(np.asarray(run.state.environments.state.instance).tolist())
    return Visited(run, instances)


def test_episodes_take_place_in_fresh_instances_only(visited: Visited) -> None:
    assert visited.instances <= TRAINED
    assert len(visited.instances) > FRESH / 2


def test_what_is_remembered_is_of_fresh_instances_only(visited: Visited) -> None:
    replay = visited.run.state.agent.replay
    written = int(replay.written[0])
    assert written > 0
    assert set(np.asarray(replay.rows.before.instance)[:written].tolist()) <= TRAINED


def test_greedy_episodes_take_place_in_the_instances_that_are_held_out(visited: Visited) -> None:
    run = visited.run
    driver: Any = run.driver
    assert isinstance(driver, JaxDriver)
    *_, instance, _, _ = driver.evaluation(run.tables, run.state.agent, [True, True], 0)
    assert sorted(instance.tolist()) == sorted([*range(HELD_OUT)] * 2)
    held_out, there = scenario("craftworld", "op", seed=HELD_OUT_SEED, instances=HELD_OUT).world, run.suite.world
    assert all(np.array_equal(a, np.asarray(b)[:HELD_OUT]) for a, b in zip(held_out, there, strict=True))


def test_a_level_is_mastered_when_the_mean_of_the_sample_is_high_enough(visited: Visited) -> None:
    """As published, a single low return would do to stay."""
    with Solvers() as solvers:
        run = Lhrm(suite(), replace(CONFIG, agent=replace(CONFIG.agent, curriculum_weight=0.0)), solvers)
    assert run.curriculum.instances == 1
    run._note_returns(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), run.curriculum.is_active)
    assert run.curriculum.level == 2
    assert run.curriculum.running[0] == pytest.approx((2 / 3,))


def test_fresh_instances_are_drawn_by_the_seed_and_are_none_of_those_held_out() -> None:
    one, same, other = (
        np.asarray(suite(replace(PLACE, instance_seed=seed)).world.things)[HELD_OUT:] for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert len({grid.tobytes() for grid in one}) == FRESH


def test_a_run_is_resumed_to_the_same_metrics_and_acts_where_it_has_never_been(tmp_path: Path) -> None:
    whole = learned(tmp_path / "whole", STEPS)
    learned(tmp_path / "halves", STEPS // 2)
    halves = learn(folder=tmp_path / "halves", resume=True, steps=STEPS)
    assert whole.files.metrics.read_bytes() == halves.files.metrics.read_bytes()
    elsewhere = halves.evaluate(instances=7, instance_seed=5)
    assert [(evaluation.task, len(evaluation.returns)) for evaluation in elsewhere] == [("bucket", 7)]
    assert [len(evaluation.returns) for evaluation in halves.evaluate()] == [HELD_OUT]
    env: Any = halves.environment("bucket", 2)
    assert env.scenario.instances[2].seed == HELD_OUT_SEED + 2


def test_too_many_instances_are_refused() -> None:
    with pytest.raises(RewardMachineError, match=r"65,536 instances at most, not 65,546"):
        scenario("craftworld", "op", fresh=2**16)
