"""Actions that are left to chance may persist, so that they lead somewhere in long episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agents.one_way import LABELS, TASK, make
from agents.test_lookahead import TINY
from rewardmachines.agents.registry import agent_kind
from rewardmachines.core.errors import RewardMachineError
from rollout.rooms import gym_training


def repeated(agent: str, persistence: float) -> float:
    """The share of steps, but for the first of episodes, in which the action is that of the step before."""
    config = replace(
        TINY, persistence=persistence, environments=1, chunk=400, exploration=replace(TINY.exploration, steps=10**6)
    )
    run = gym_training(lambda: make(100), TASK, agent_kind(agent).settings(config), labels=LABELS)
    run.advance()
    actions = np.asarray(run.state.agent.replay.rows.action)[:400]
    return float(np.mean(actions[1:] == actions[:-1]))


@pytest.mark.parametrize("agent", ["hrl", "crm"])
def test_random_actions_are_repeated_as_often_as_the_settings_say(agent: str) -> None:
    assert 0.4 < repeated(agent, 0.0) < 0.6  # of two actions
    assert 0.85 < repeated(agent, 0.8) < 0.95


def test_what_persists_forever_is_not_random() -> None:
    with pytest.raises(RewardMachineError, match="persistence"):
        replace(TINY, persistence=1.0)
