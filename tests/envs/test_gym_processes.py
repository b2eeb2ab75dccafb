"""The domains in Gymnasium's own processes: they work when spawned, and are refused at once when forked.

Each test runs in a process of its own, which ends although what it tests may wait for ever.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SECONDS = 120

STEPS = """
import gymnasium
import numpy as np
import rewardmachines.envs

NAME = "rewardmachines/CraftWorld-OPL-v0"
many = gymnasium.make_vec(NAME, 2, "async", vector_kwargs={"context": "spawn"}, task="book", max_steps=30)
each = [gymnasium.make(NAME, task="book", max_steps=30) for _ in range(2)]
observations, info = many.reset(seed=5)
for i, env in enumerate(each):
    observation, own = env.reset(seed=5 + i)
    assert np.array_equal(observations[i], observation)
    assert info["label"][i] == own["label"] and info["instance"][i] == own["instance"]
many.action_space.seed(0)
for _ in range(20):
    actions = many.action_space.sample()
    observations, rewards, ended, _, info = many.step(actions)
    for i, env in enumerate(each):
        observation, reward, terminated, _, own = env.step(actions[i])
        assert np.array_equal(observations[i], observation)
        assert (rewards[i], ended[i], info["label"][i]) == (reward, terminated, own["label"])
many.close()
print("the same")
"""

FORKED = """
import multiprocessing
import gymnasium
import rewardmachines.envs

many = gymnasium.make_vec("rewardmachines/CraftWorld-OP-v0", 2, "async", vector_kwargs={"context": "fork"})
try:
    many.reset(seed=0)
except Exception as problem:
    print(type(problem).__name__, problem)
many.close(terminate=True)
print("left behind:", multiprocessing.active_children())
"""


def output(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_spawned_environments_are_those_of_this_process() -> None:
    assert output(STEPS).splitlines() == ["the same"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_forked_environments_are_refused_in_one_line_and_leave_no_process_behind() -> None:
    refused, left = output(FORKED).splitlines()
    assert refused.startswith(
        "RewardMachineError JAX cannot go on in a forked process: with vectorization_mode='async'"
    )
    assert "vector_kwargs={'context': 'spawn'}" in refused
    assert left == "left behind: []"
