"""Actions that are left to chance may persist, so that they lead somewhere in long episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agents.one_way import LABELS, TASK, make
from agents.test_lookahead import TINY
from rewardmachines.agents.algorithms import crm_settings
from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.gymnasium.train import vectorize
from rewardmachines.agents.gymnasium.training import begin_training
from rewardmachines.core.errors import RewardMachineError


def repeated(algorithm: Algorithm, persistence: float) -> float:
    """The share of steps, but for the first of episodes, in which the action is that of the step before."""
    config = replace(TINY, persistence=persistence, replay_start=8_000, annealing_steps=10**6, environments=1)
    settings = crm_settings(config) if algorithm is Algorithm.CRM else config
    training = begin_training(vectorize(lambda: make(100), 1), TASK, settings, algorithm, labels=LABELS)
    for _ in range(400):
        training.advance()
    actions = np.asarray(training.agent_state.replay.rows.action)[:400]
    return float(np.mean(actions[1:] == actions[:-1]))


@pytest.mark.parametrize("algorithm", [Algorithm.HRL, Algorithm.CRM])
def test_random_actions_are_repeated_as_often_as_the_settings_say(algorithm: Algorithm) -> None:
    assert 0.4 < repeated(algorithm, 0.0) < 0.6  # of two actions
    assert 0.85 < repeated(algorithm, 0.8) < 0.95


def test_what_persists_forever_is_not_random() -> None:
    with pytest.raises(RewardMachineError, match="persistence"):
        replace(TINY, persistence=1.0)
