"""LHRM where one outcome of twenty is wrong: with `noise` all is learned, without it tasks are given up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from lhrm.test_toy import ENOUGH, run_until, toy_run
from lhrm.toy import LABELS, MAX_STEPS, SMALL, TOY, TREES, TWO_ROOMS, quickly, two_rooms_registered
from rewardmachines.core.equivalence import difference
from rewardmachines.envs.noise import WorldNoise
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm, waiting_traces
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.host_state import LhrmState
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.runs import verbs
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import LearnArguments, carry_out, order_of
from rewardmachines.runs.stopping import is_learned

RATE = 0.05
TOLERANT = quickly(noise=RATE, confirm_episodes=100)
CHUNK = SMALL.agent.chunk * SMALL.agent.environments


def noisy_run(config: LhrmConfig = TOLERANT, seed: int = 0) -> Lhrm:
    suite = JaxSuite(replace(TOY, noise=WorldNoise(outcomes=RATE)), tuple(TREES))
    return Lhrm(suite, config, Solvers(cores=1), seed=seed)


def test_machines_are_right_although_outcomes_are_wrong() -> None:
    run = noisy_run()
    run_until(run, lambda run: is_learned(run, ENOUGH))
    for name, tree in TREES.items():
        assert difference(run.pool.hierarchy(name), tree, labels=LABELS, events=True) is None
    assert sum(progress.evidence.counterexamples for progress in run.progress.values()) > 0


def test_without_the_setting_tasks_are_given_up() -> None:
    run = noisy_run(replace(TOLERANT, noise=0.0))
    run_until(run, lambda run: bool(run.curriculum.dropped))
    assert any("ends apart" in (progress.problem or "") for progress in run.progress.values())


def test_some_explained_episodes_wait_with_noise_and_none_without() -> None:
    """After the machine of a task explains all of its traces."""
    for rate, is_kept in ((RATE, True), (0.0, False)):
        run = toy_run(quickly(noise=rate))
        run_until(run, lambda run: "all" in run.pool.learned and is_learned(run, ENOUGH))
        found = 0
        for _ in range(10):
            state, _ = run.driver.chunk(run.tables, run.state, learns=False, most=10**6)
            waits, traces = waiting_traces(state.episodes, run.tasks, run.bits)
            found += sum(map(len, traces.values()))
            run.state = run.driver.restart(run.tables, state, waits)
        assert (found > 0) is is_kept


def test_what_goes_on_from_a_state_in_the_middle_is_the_same_run() -> None:
    run, again = noisy_run(), noisy_run()
    run_until(run, lambda run: any(p.evidence.counterexamples for p in run.progress.values()))
    state = run.host_state()
    again.restore(from_plain(LhrmState, to_plain(state), "there"), "there")
    assert again.host_state() == state
    again.state = jax.tree.map(lambda x: x.copy(), run.state)
    assert [again.advance() for _ in range(8)] == [run.advance() for _ in range(8)]
    for mine, theirs in zip(jax.tree.leaves(again.tables), jax.tree.leaves(run.tables), strict=True):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("labels", [0.0, RATE])
def test_a_resumed_run_writes_the_same_metrics(tmp_path: Path, labels: float) -> None:
    def ordered(name: str, chunks: int) -> None:
        asked = LearnArguments(
            TWO_ROOMS.name,
            settings=TOLERANT,
            instances=1,
            max_steps=MAX_STEPS,
            noise=RATE,
            label_noise=labels,
            outcome_noise=RATE,
            steps=chunks * CHUNK,
            stop_at=0,
        )
        for _ in carry_out([order_of(asked, RunFolder(tmp_path / name), resume=False)]):
            pass

    with two_rooms_registered():
        ordered("whole", 16)
        ordered("parts", 9)
        resumed = verbs.learn(folder=tmp_path / "parts", resume=True, steps=16 * CHUNK, stop_at=0)
    assert resumed.config.settings.noise == RATE
    assert resumed.config.domain is not None
    assert resumed.config.domain.noise == WorldNoise(labels, RATE)
    whole, parts = ((tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "parts"))
    assert whole == parts
