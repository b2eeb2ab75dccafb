"""Policies of runs on Gymnasium environments, which act where nobody knows those who trained them."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from lhrm import yards
from lhrm.stored_yards import folder_of
from lhrm.yards import STEPS, Yard, learn
from rewardmachines.agents.gymnasium.observations import Reading
from rewardmachines.agents.gymnasium.reading_record import ReadingRecord
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.gymnasium_runs.run import load_gymnasium_run, load_policy
from rewardmachines.lhrm.learn_gymnasium import LearnedTasks
from rewardmachines.lhrm.snapshot import Snapshot
from rewardmachines.runs.checkpoint import read_snapshot
from strangers import action_of_policy


@pytest.mark.parametrize("best", [False, True])
def test_a_policy_acts_again_from_the_folder(whole: LearnedTasks, best: bool) -> None:
    folder = folder_of(whole)
    policy, trained = load_policy(folder, "bc", best=best), whole.policy("bc")
    env = yards.make_bc()
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        policy.reset(info["label"])
        trained.reset(info["label"])
        done = False
        while not done:
            action = policy.act(observation, info["label"])
            assert best or action == trained.act(observation, info["label"])
            observation, _, terminated, truncated, info = env.step(action)
            done = terminated or truncated
        assert info["outcome"] == "goal"
    env.close()


def test_the_best_policies_are_those_of_the_best_evaluation(whole: LearnedTasks) -> None:
    judged = [row for row in whole.rows if row.mean_return is not None and not row.learned]
    best = max(row.mean_return or 0 for row in judged)
    last = [row.chunk for row in judged if row.mean_return == best][-1]
    assert read_snapshot(folder_of(whole) / "policies-best.safetensors", Snapshot).tally.chunks == last


def test_a_policy_needs_no_code_of_whoever_trained_it(whole: LearnedTasks, tmp_path: Path) -> None:
    assert action_of_policy(folder_of(whole), tmp_path) in range(1, 5)


def test_what_cannot_be_loaded_is_said(whole: LearnedTasks, tmp_path: Path) -> None:
    folder = folder_of(whole)
    with pytest.raises(RewardMachineError, match="there is no task 'abc' in this run"):
        load_policy(folder, "abc")
    with pytest.raises(RewardMachineError, match="say which task: there are ab, bc, all"):
        load_policy(folder)
    with pytest.raises(RewardMachineError, match="nothing can be done about 'all' yet: there is no machine"):
        load_policy(folder, "all")
    with pytest.raises(RewardMachineError, match="observations were not encoded: leave out encode="):
        load_policy(folder, "ab", encode=yards.encode)
    learn(tmp_path / "few", steps=STEPS)
    with pytest.raises(RewardMachineError, match="no evaluation has judged policies yet"):
        load_policy(tmp_path / "few", "ab", best=True)


def test_encoded_observations_need_their_function_again(tmp_path: Path) -> None:
    run = learn(tmp_path / "run", steps=12 * STEPS, encode=yards.encode)
    assert "bc" in run.hierarchies
    observations = load_gymnasium_run(tmp_path / "run").spec.senses.observations
    assert (observations.is_encoded, observations.encode) == (True, "lhrm.yards:encode")
    with pytest.raises(RewardMachineError, match=r"observations were encoded by lhrm.yards:encode: pass it again"):
        load_policy(tmp_path / "run", "bc")
    policy = load_policy(tmp_path / "run", "bc", encode=yards.encode)
    policy.reset(set())
    assert policy.act(3, set()) in range(1, 5)
    resumed = learn(tmp_path / "run", steps=13 * STEPS, resume=True)
    assert len(resumed.rows) > len(run.rows)


def test_a_record_of_a_reading_has_all_that_a_reading_has() -> None:
    assert {field.name for field in fields(ReadingRecord)} == {field.name for field in fields(Reading)} | {"is_encoded"}


# -- evaluation


def test_policies_are_evaluated_in_the_environments_that_the_run_names(whole: LearnedTasks) -> None:
    run = load_gymnasium_run(folder_of(whole))
    for best in (False, True):
        evaluations = {evaluation.task: evaluation for evaluation in run.evaluate(best=best)}
        assert set(evaluations) == {"ab", "bc"}
        assert evaluations["bc"].returns == (1.0, 1.0, 1.0)
        assert all(1 <= length <= 60 for length in evaluations["bc"].lengths)
        assert len(evaluations["ab"].returns) == 10
    assert Yard.open == 0
