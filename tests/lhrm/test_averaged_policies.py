"""Runs whose greedy policies are moving averages keep these, and not the networks that learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lhrm.toy import MAX_STEPS, TREES, TWO_ROOMS, quickly
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.learn import learn
from rewardmachines.lhrm.spec import LearnSpec
from rewardmachines.runs.tensors import named, read_arrays

pytestmark = pytest.mark.usefixtures("two_rooms_domain")


def test_policies_are_kept_that_were_judged(tmp_path: Path) -> None:
    plain = quickly(explores_with=Exploration.PROPOSITIONS)
    config = replace(plain, agent=replace(plain.agent, target_rate=0.02))
    spec = LearnSpec(TWO_ROOMS.name, "plain", tuple(TREES), config, instances=1, max_steps=MAX_STEPS)
    run = learn(tmp_path / "run", spec, steps=15 * config.agent.chunk * config.agent.environments)
    folder = LearnFolder(run.folder)
    kept, _ = read_arrays(folder.policies)
    every = {_in_policies(name): array for name, array in read_arrays(folder.checkpoint)[0].items()}
    networks = {name: array for name, array in kept.items() if "/formulas/online/" in name}
    assert networks
    averages = {name: every[name.replace("/online/", "/target/")] for name in networks}
    assert all(np.array_equal(array, averages[name]) for name, array in networks.items())
    assert any((averages[name] != every[name]).any() for name in networks)
    agent = run.policies().agent
    for name, array in named(agent.formulas.target, "agent/formulas/online").items():
        assert np.array_equal(array, kept[name])


def _in_policies(name: str) -> str:
    """What an array of a checkpoint is called in the file of policies."""
    return name[name.find("agent/") :]
