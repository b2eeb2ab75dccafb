"""LHRM in fresh instances: nobody is trained in those that are held out, and their mean return decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from lhrm.toy import quickly
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import FreshSizes
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import HELD_OUT_SEED, scenario
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.learn import learn
from rewardmachines.lhrm.spec import good_return, specs_of_seeds, standard_learning
from rewardmachines.runs.records import to_plain

FRESH, HELD_OUT = 20, 3
TRAINED = set(range(HELD_OUT, HELD_OUT + FRESH))
"""The numbers of the instances that may be trained on: in the world, they come after those that are held out."""
_NETWORK = NetworkConfig(Body.FLAT, hidden=(16,))
CONFIG = replace(
    quickly(),
    threshold=0.6,
    agent=replace(
        quickly().agent, environments=8, chunk=20, evaluate_steps=20, network=_NETWORK, call_network=_NETWORK
    ),
)
SPEC = replace(
    standard_learning(
        "craftworld", "op", ["bucket", "milk-bucket"], fresh=True, config=CONFIG, instances=HELD_OUT, max_steps=40
    ),
    fresh=FRESH,
)


STEPS = 12_000
"""Enough for a machine of the first task, and for no other."""


class Visited(NamedTuple):
    """A run after a few chunks, and the instances that its environments were seen in."""

    run: Lhrm
    instances: set[int]


@pytest.fixture(scope="module")
def visited() -> Visited:
    with Solvers() as solvers:
        run, instances = Lhrm(SPEC.worlds(), SPEC.config, solvers, seed=1), set[int]()
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
    driver = SPEC.worlds().driver(SPEC.config, 3)
    *_, instance, _, _ = driver.evaluation(run.knowledge, run.state.agent, [True, True], 0)
    assert sorted(instance.tolist()) == sorted([*range(HELD_OUT)] * 2)
    held_out, there = scenario("craftworld", "op", seed=HELD_OUT_SEED, instances=HELD_OUT).world, run.worlds.world
    assert all(np.array_equal(a, np.asarray(b)[:HELD_OUT]) for a, b in zip(held_out, there, strict=True))


def test_a_level_is_mastered_when_the_mean_of_the_sample_is_high_enough(visited: Visited) -> None:
    """As published, a single low return would do to stay."""
    with Solvers() as solvers:
        run = Lhrm(SPEC.worlds(), replace(CONFIG, agent=replace(CONFIG.agent, curriculum_weight=0.0)), solvers)
    assert run.curriculum.instances == 1
    run._note_returns(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), run.curriculum.is_active)
    assert run.curriculum.level == 2
    assert run.curriculum.running[0] == pytest.approx((2 / 3,))


def test_fresh_instances_are_drawn_by_the_seed_and_are_none_of_those_held_out() -> None:
    one, same, other = (
        np.asarray(replace(SPEC, instance_seed=seed).scenario().training_world.things)[HELD_OUT:] for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert len({grid.tobytes() for grid in one}) == FRESH


def test_a_run_is_resumed_to_the_same_metrics_and_acts_where_it_has_never_been(tmp_path: Path) -> None:
    whole = learn(tmp_path / "whole", SPEC, steps=STEPS)
    learn(tmp_path / "halves", SPEC, steps=STEPS // 2)
    halves = learn(tmp_path / "halves", resume=True, steps=STEPS)
    assert whole.files.metrics.read_bytes() == halves.files.metrics.read_bytes()
    elsewhere = halves.evaluate(instances=7, instance_seed=5)
    assert [(evaluation.task, len(evaluation.returns)) for evaluation in elsewhere] == [("bucket", 7)]
    assert [len(evaluation.returns) for evaluation in halves.evaluate()] == [HELD_OUT]
    assert halves.environment("bucket", 2).scenario.instances[2].seed == HELD_OUT_SEED + 2


def test_domains_say_how_many_instances_there_are_and_what_is_good_enough() -> None:
    sizes: FreshSizes = domain("craftworld").settings["op"].fresh
    spec = standard_learning("craftworld", "op", fresh=True)
    assert (spec.fresh, spec.instances, spec.instance_seed) == (sizes.drawn, sizes.held_out, HELD_OUT_SEED)
    assert good_return(spec) == sizes.solved_return
    assert good_return(standard_learning("craftworld", "op")) == domain("craftworld").solved_return


def test_what_is_not_fresh_is_written_as_before() -> None:
    assert "fresh" not in to_plain(standard_learning("craftworld", "op"), brief=True)


def test_too_many_instances_and_contradictions_are_refused() -> None:
    with pytest.raises(RewardMachineError, match=r"65,536 instances at most, not 65,546"):
        scenario("craftworld", "op", fresh=2**16)
    with pytest.raises(RewardMachineError, match="leave out instances of their own"):
        specs_of_seeds(SPEC, 2, own_instances=True)
