"""Policies of training in Gymnasium environments, which act where nobody knows those who trained them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.yard_runs import STEPS, TASK, folder_of, train
from lhrm import yards
from lhrm.yards import Yard
from rewardmachines.agents.gymnasium.runs.run import load_gymnasium_training
from rewardmachines.agents.gymnasium.trained import Trained
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import HierarchyWrapper
from rewardmachines.lhrm.gymnasium_runs.run import load_policy
from rewardmachines.runs.tensors import read_arrays
from strangers import action_of_policy


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(tmp_path_factory.mktemp("runs") / "whole")


@pytest.mark.parametrize("algorithm", ["hrl", "crm"])
def test_a_policy_acts_again_from_the_folder(tmp_path: Path, algorithm: str) -> None:
    config = None if algorithm == "crm" else yards.FEW.agent
    trained = train(tmp_path / "run", steps=3 * STEPS, algorithm=algorithm, config=config)
    loaded, own = load_policy(tmp_path / "run"), trained.fresh_policy()
    env = HierarchyWrapper(yards.make_ab(), TASK)
    for seed in range(4):
        observation, info = env.reset(seed=seed)
        loaded.reset(info["label"])
        own.reset(info["label"])
        done = False
        while not done:
            action = loaded.act(observation, info["label"])
            assert action == own.act(observation, info["label"])
            observation, _, terminated, truncated, info = env.step(action)
            done = terminated or truncated
    env.close()


def test_the_best_policy_is_that_of_the_best_evaluation(whole: Trained) -> None:
    judged = [row for row in whole.rows if row.mean_return is not None]
    best = max(row.mean_return or 0 for row in judged)
    last = [row.chunk for row in judged if row.mean_return == best][-1]
    policies = folder_of(whole) / "policies"
    assert read_arrays(policies / "ab-3-best.safetensors")[1]["chunks"] == last
    assert read_arrays(policies / "ab-3.safetensors")[1]["chunks"] == 16
    (evaluation,) = load_gymnasium_training(folder_of(whole)).evaluate(best=True)
    assert sum(evaluation.returns) / 3 == pytest.approx(best)
    assert all(1 <= length <= 60 for length in evaluation.lengths)
    assert Yard.open == 0


def test_a_policy_needs_no_code_of_whoever_trained_it(whole: Trained, tmp_path: Path) -> None:
    assert action_of_policy(folder_of(whole), tmp_path, best=True) in range(1, 5)


def test_what_cannot_be_loaded_is_said(whole: Trained, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="this run is about 'ab', not 'abc'"):
        load_policy(folder_of(whole), "abc")
    with pytest.raises(RewardMachineError, match="observations were not encoded: leave out encode="):
        load_policy(folder_of(whole), encode=yards.encode)
    train(tmp_path / "few", steps=STEPS)
    with pytest.raises(RewardMachineError, match="no evaluation has judged a policy yet"):
        load_policy(tmp_path / "few", best=True)
    train(tmp_path / "none", steps=None, seconds=1e-9)
    (tmp_path / "none" / "policies" / "ab-3.safetensors").unlink(missing_ok=True)
    with pytest.raises(RewardMachineError, match="there is no policy yet"):
        load_policy(tmp_path / "none")


def test_encoded_observations_need_their_function_again(tmp_path: Path) -> None:
    train(tmp_path / "run", steps=2 * STEPS, encode=yards.encode)
    with pytest.raises(RewardMachineError, match=r"observations were encoded by lhrm.yards:encode: pass it again"):
        load_policy(tmp_path / "run")
    policy = load_policy(tmp_path / "run", encode=yards.encode)
    policy.reset(set())
    assert policy.act(3, set()) in range(1, 5)
    assert len(load_gymnasium_training(tmp_path / "run").evaluate()[0].returns) == 3
    assert len(train(tmp_path / "run", steps=3 * STEPS, resume=True).rows) == 3
