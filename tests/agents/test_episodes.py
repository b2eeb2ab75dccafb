"""Training by episodes: evaluations and ends at the step in which an episode is the last, and what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from agents.tiny import CHUNK, CONFIG, tiny_spec
from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.presets import preset, published_episodes
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.run import load_run
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.spec import TrainSpec
from rewardmachines.agents.training.train import train
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.budget import Budget

pytestmark = pytest.mark.usefixtures("shared_programs")

BY_EPISODES = replace(CONFIG, evaluate_episodes=10)


NEVER = Budget()
"""Ends nothing."""


def session_of(budget: Budget = NEVER, **changes: Any) -> Session:
    spec: TrainSpec = tiny_spec(**{"config": BY_EPISODES, **changes})
    return Session(spec, spec.scenario().task("bucket"), budget)


def rows_of(session: Session, chunks: int) -> list[Row]:
    return [row for _ in range(chunks) for row in session.advance()]


@pytest.mark.parametrize("algorithm", list(Algorithm))
def test_the_preset_paper_evaluates_every_100_episodes(algorithm: Algorithm) -> None:
    for domain, setting in (("craftworld", "op"), ("craftworld", "frl"), ("waterworld", "wd")):
        config = preset("paper", domain, setting, algorithm)
        assert (config.evaluate_episodes, config.curriculum_weight, config.evaluate_steps) == (100, 0.99, None)
        assert preset("fast", domain, setting, algorithm).evaluate_episodes is None
    assert [published_episodes(s) for s in ("op", "opl", "wod", "fr", "frl", "wd")] == [100_000] * 3 + [200_000] * 3


def test_an_evaluation_takes_place_in_the_vector_step_in_which_it_is_due() -> None:
    session = session_of()
    rows = rows_of(session, 60)
    evaluated = [row for row in rows if row.returns is not None]
    assert len(evaluated) >= 10
    for number, row in enumerate(evaluated, start=1):
        # At most the other environments have ended an episode in the same vector step.
        assert 10 * number <= row.episodes < 10 * number + CONFIG.environments
    for row in rows:
        assert row.returns is not None or row.episodes < 10 * (1 + sum(e.chunk < row.chunk for e in evaluated))


def test_steps_are_those_that_were_taken() -> None:
    session = session_of()
    rows = rows_of(session, 30)
    taken = np.diff([0, *(row.steps for row in rows)])
    assert set(taken) <= {4 * turns for turns in range(1, 26)}
    assert min(taken) < CHUNK, "no chunk was cut short"
    assert [row.returns is not None for row in rows if row.steps] == [
        row.returns is not None or bool(t < CHUNK) for row, t in zip(rows, taken, strict=True)
    ]
    assert int(session.state.agent.replay.written[0]) == session.steps


def test_a_run_by_episodes_learns_as_one_by_chunks_does_until_it_is_evaluated() -> None:
    """Only where chunks end is different: the first episodes are the same, step by step."""
    by_episodes, by_chunks = session_of(), session_of(config=CONFIG)
    for _ in range(2):  # nothing is learned from yet; the number of the chunk that is the first to learn may differ
        one, other = by_episodes.advance(), by_chunks.advance()
        assert [(r.steps, r.episodes, r.goals, r.ended) for r in one] == [
            (r.steps, r.episodes, r.goals, r.ended) for r in other
        ]
    assert np.array_equal(jax.random.key_data(by_episodes.state.key), jax.random.key_data(by_chunks.state.key))


def test_learning_starts_at_the_step_and_updates_are_as_many_as_steps() -> None:
    """Not at the next chunk: 130 steps are 32.5 vector steps."""
    config = replace(BY_EPISODES, replay_start=130, updates=4)
    session = session_of(config=config)
    rows_of(session, 12)
    idle = -(-130 // 4) - 1
    assert int(session.state.agent.formulas.rounds) == session.steps - 4 * idle


def of_seed(session: Session, seed: int) -> list[bytes]:
    """All that is on the device of one seed, bit for bit."""
    state = session.state
    leaves = jax.tree.leaves((state.agent, state.crew, jax.random.key_data(state.key)))
    return [np.asarray(leaf)[seed].tobytes() for leaf in leaves]  # indexed on the host: compiles nothing


@pytest.mark.parametrize("algorithm", [Algorithm.HRL, Algorithm.CRM])
def test_seeds_wait_for_each_other_and_nothing_happens_to_them_meanwhile(algorithm: Algorithm) -> None:
    """With lava, episodes end at different times."""
    session = session_of(seeds=2, algorithm=algorithm, setting="opl")
    rows: list[Row] = []
    waited = 0
    for _ in range(100):
        before = session.tally.steps.copy(), [of_seed(session, seed) for seed in (0, 1)]
        rows += session.advance()
        for seed in np.flatnonzero(session.tally.steps == before[0]).tolist():
            waited += 1
            assert of_seed(session, seed) == before[1][seed]
    assert waited, "no seed has waited"
    for seed in (0, 1):
        evaluated = [row for row in rows if row.seed == seed and row.returns is not None]
        assert [row.episodes // 10 for row in evaluated] == list(range(1, len(evaluated) + 1))
    assert session.state.agent.replay.written[:, 0].tolist() == session.tally.steps.tolist()


def test_a_seed_does_the_same_beside_another_and_alone() -> None:
    """As long as nothing is learned: a sum over a batch may be another in the last digit."""
    config = replace(BY_EPISODES, replay_start=BY_EPISODES.replay_size)
    both, alone = session_of(seeds=2, config=config), session_of(seed=1, config=config)
    told = [
        [(row.steps, row.episodes, row.returns) for row in rows_of(session, 15) if row.seed == 1 and row.returns]
        for session in (both, alone)
    ]
    most = min(map(len, told))
    assert most >= 2
    assert told[0][:most] == told[1][:most]


@pytest.mark.parametrize("config", [BY_EPISODES, CONFIG])
@pytest.mark.parametrize("seeds", [1, 2])
def test_a_run_ends_with_the_last_episode_that_it_may_have(
    tmp_path: Path, config: HierarchicalDqnConfig, seeds: int
) -> None:
    spec = tiny_spec(config=config, seeds=seeds)
    run = train(tmp_path / "run", spec, None, episodes=25)
    assert run.order.budget == Budget(episodes=25)
    rows = run.rows()
    for seed in range(seeds):
        mine = [row for row in rows if row.seed == seed]
        assert 25 <= mine[-1].episodes < 25 + config.environments
        assert all(row.episodes < 25 for row in mine if row.steps < mine[-1].steps)
    assert len(train(tmp_path / "run", resume=True).rows()) == len(rows)
    assert train(tmp_path / "run", resume=True, episodes=27).rows()[-1].episodes >= 27


def test_with_steps_and_episodes_what_comes_first_ends_a_run(tmp_path: Path) -> None:
    run = train(tmp_path / "run", tiny_spec(config=BY_EPISODES), None, 2 * CHUNK, episodes=1000)
    assert load_run(run.folder).order.budget == Budget(2 * CHUNK, 1000)
    assert run.rows()[-1].steps < 3 * CHUNK


def test_a_seed_that_has_taken_its_steps_does_not_keep_others_from_being_evaluated() -> None:
    session = session_of(Budget(steps=6 * CHUNK), seeds=2)
    for _ in range(100):
        if session.is_finished.all():
            break
        session.advance()
    assert session.is_finished.all()
    assert (session.tally.steps < 7 * CHUNK).all()


def test_a_run_by_episodes_that_was_broken_off_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    spec = tiny_spec(config=BY_EPISODES, seeds=2)
    whole = train(tmp_path / "whole", spec, None, episodes=30)
    train(tmp_path / "broken", spec, None, 3 * CHUNK)
    again = train(tmp_path / "broken", resume=True, episodes=30)
    # Where the steps ended, a seed may have stopped that would have gone on: compare what was learned before.
    assert again.rows()[:2] == whole.rows()[:2]
    stopped: list[int] = []

    def stop(rows: Sequence[Row]) -> None:
        stopped.append(rows[0].chunk)
        if len(stopped) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "stopped", spec, None, episodes=30, callbacks=[stop])
    assert train(tmp_path / "stopped", resume=True).rows() == whole.rows()


def test_it_is_said_how_long_a_run_takes(tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="a number of steps, of episodes or of seconds"):
        train(tmp_path / "run", tiny_spec(), None)
    with pytest.raises(RewardMachineError, match="at least one episode is needed, not 0"):
        train(tmp_path / "run", tiny_spec(), None, episodes=0)
    with pytest.raises(RewardMachineError, match="at least one episode lies between evaluations, not 0"):
        replace(CONFIG, evaluate_episodes=0)
    assert not (tmp_path / "run").exists()
