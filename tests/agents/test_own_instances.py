"""Seeds that are trained side by side, each in instances of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from agents.tiny import CONFIG, tiny_spec
from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.spec import TrainSpec
from rewardmachines.agents.training.train import train
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.scenario import PAPER_INSTANCE_SEEDS, instance_seed_of

pytestmark = pytest.mark.usefixtures("shared_programs")

STILL = replace(CONFIG, replay_start=CONFIG.replay_size, call_replay_start=CONFIG.call_replay_size)
"""Nothing is learned: a sum over a batch may be another in the last digit side by side."""


def session_of(spec: TrainSpec) -> Session:
    return Session(spec, spec.scenario().task(spec.task))


@pytest.mark.parametrize(("algorithm", "evaluate_episodes"), [(Algorithm.HRL, None), (Algorithm.CRM, 10)])
def test_a_seed_does_the_same_beside_another_and_alone_in_its_instances(
    algorithm: Algorithm, evaluate_episodes: int | None
) -> None:
    config = replace(STILL, evaluate_episodes=evaluate_episodes)
    spec = tiny_spec(config=config, algorithm=algorithm, setting="opl", seeds=2, own_instances=True)
    alone = replace(spec, seed=1, seeds=1, own_instances=False, instance_seed=PAPER_INSTANCE_SEEDS[1])
    assert spec.of_seed(1) == alone
    told, expected = (
        [_rounded(row) for _ in range(8) for row in session.advance() if row.seed == 1]
        for session in (session_of(spec), session_of(alone))
    )
    if evaluate_episodes is not None:  # side by side, whoever is due waits for the other: compare what was evaluated
        told, expected = (
            [replace(row, chunk=0, goals=0, ended=0) for row in rows if row.returns] for rows in (told, expected)
        )
        most = min(len(told), len(expected))
        told, expected = told[:most], expected[:most]
    assert told
    assert told == expected


def _rounded(row: Row) -> Row:
    """Without the last digits of a mean."""
    return replace(row, exploration=round(row.exploration, 5))


def test_the_worlds_of_seeds_are_those_of_the_papers_runs() -> None:
    session = session_of(tiny_spec(seeds=2, own_instances=True))
    for s in (0, 1):
        world = session_of(tiny_spec(instance_seed=PAPER_INSTANCE_SEEDS[s])).problem.task.world
        mine = jax.tree.map(lambda x, s=s: x[s], session._task.world)
        assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()), mine, world)))


def test_policies_are_evaluated_and_act_in_the_instances_of_their_seed(tmp_path: Path) -> None:
    spec = tiny_spec(config=STILL, seeds=2, own_instances=True)
    run = train(tmp_path / "run", spec, None, steps=4 * CONFIG.chunk * CONFIG.environments)
    last = [row for row in run.rows() if row.returns is not None][-2:]
    assert [(e.returns, e.lengths) for e in run.evaluate()] == [(row.returns, row.lengths) for row in last]

    def first(seed: int | None) -> Any:
        return run.environment(0, seed=seed).reset()[0]

    assert not np.array_equal(first(0), first(1))
    assert np.array_equal(first(None), first(0))
    with pytest.raises(RewardMachineError, match="there is no seed 7"):
        run.environment(0, seed=7)


def test_a_run_with_instances_of_its_own_that_was_broken_off_goes_on(tmp_path: Path) -> None:
    spec, steps = tiny_spec(seeds=2, own_instances=True), 4 * CONFIG.chunk * CONFIG.environments
    whole = train(tmp_path / "whole", spec, None, steps=steps)
    train(tmp_path / "broken", spec, None, steps=steps // 2)
    assert train(tmp_path / "broken", resume=True, steps=steps).rows() == whole.rows()


def test_there_is_no_common_seed_of_instances_if_seeds_have_their_own() -> None:
    with pytest.raises(RewardMachineError, match="no common seed of instances"):
        tiny_spec(own_instances=True, instance_seed=7)


def test_runs_have_disjoint_instances() -> None:
    seeds = [instance_seed_of(run) for run in range(50)]
    assert tuple(seeds[:5]) == PAPER_INSTANCE_SEEDS
    assert np.diff(sorted(seeds)).min() >= 10_000
    for run in (-1, 10**6):
        with pytest.raises(RewardMachineError, match="have numbers from 0 to"):
            instance_seed_of(run)
