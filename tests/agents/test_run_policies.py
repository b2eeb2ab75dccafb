"""What a run of training has learned: its policies do in episodes what its evaluations say."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import rewardmachines as rm
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import Verdict

pytestmark = pytest.mark.usefixtures("shared_programs")


def test_the_policies_do_what_the_last_evaluation_says(whole: TrainRun) -> None:
    last = whole.rows()[-1]
    (found,) = whole.evaluate()
    assert (found.returns, found.lengths) == (last.returns, last.lengths)
    policy = whole.policy("bucket", seed=0)
    for instance in range(2):
        assert _played(whole, policy, instance) == (found.returns[instance], found.lengths[instance])


def _played(run: TrainRun, policy: Any, instance: int) -> tuple[float, int]:
    env = run.environment(instance)
    observation, info = env.reset()
    policy.reset(info["label"])
    steps, total, over = 0, 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info["label"]))
        steps, total, over = steps + 1, total + reward, terminated or truncated
    return total, steps


def test_a_policy_follows_the_hierarchy_on_label_events(whole: TrainRun) -> None:
    policy = whole.policy("bucket")
    observation, _ = whole.environment(0).reset()
    policy.reset({"iron"})
    assert policy.state.state == "u1"
    policy.act(observation, {"iron"})
    assert policy.options == ("bucket: table",)
    policy.act(observation, {"iron"})
    with pytest.raises(RewardMachineError, match="the task is over"):
        policy.act(observation, {"table"})
    assert policy.verdict is Verdict.ACCEPT
    policy.reset()
    assert policy.state.state == "u0"


def test_a_policy_says_what_it_cannot_do(whole: TrainRun) -> None:
    with pytest.raises(RewardMachineError, match="no policy for 'cake'; it has learned 'bucket'"):
        whole.policy("cake")
    with pytest.raises(RewardMachineError, match="no seed 7; there are 0"):
        whole.policy("bucket", seed=7)
    policy = whole.policy("bucket")
    with pytest.raises(RewardMachineError, match="reset the policy"):
        policy.act(np.zeros(3), ())
    policy.reset()
    with pytest.raises(RewardMachineError, match="observations of shape"):
        policy.act(np.zeros(3), ())
    with pytest.raises(RewardMachineError, match="'gold'"):
        policy.reset({"gold"})


def test_runs_are_loaded_by_their_lazy_names(whole: TrainRun) -> None:
    assert rm.load_run(whole.folder).spec == whole.spec
    code = "import sys, rewardmachines; assert 'jax' not in sys.modules; rewardmachines.load_run"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rm.nothing  # noqa: B018
