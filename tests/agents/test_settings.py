"""Settings of agents: what they may be, and those of presets and evaluations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agents.tiny import CONFIG
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig, for_evaluation
from rewardmachines.agents.presets import preset, published_episodes
from rewardmachines.core.errors import RewardMachineError


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"updates": 0}, "updates: at least 1, not 0"),
        ({"environments": -1}, "environments: at least 1, not -1"),
        ({"updates": 2.0}, r"updates: a whole number, not 2\.0"),
        ({"replay_size": 1e5}, r"replay size: a whole number, not 100000\.0"),
        ({"batch": "32"}, "batch: a whole number, not '32'"),
        ({"batch": 100_000_000_000}, "batch: at most 2,147,483,647, not 100,000,000,000"),
    ],
)
def test_counts_are_whole_numbers_from_one_to_what_an_array_can_hold(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RewardMachineError, match=words):
        HierarchicalDqnConfig(**changes)
    with pytest.raises(RewardMachineError, match="not 0 episodes"):
        HierarchicalDqnConfig(evaluate_every="0 episodes")


@pytest.mark.parametrize("agent", ["hrl", "flat-hrl", "crm"])
def test_the_preset_paper_evaluates_every_100_episodes(agent: str) -> None:
    for domain, setting in (("craftworld", "op"), ("craftworld", "frl"), ("waterworld", "wd")):
        config = preset("paper", domain, setting, agent)
        assert (config.evaluate_every, config.curriculum_weight, config.evaluate_steps) == ("100 episodes", 0.99, None)
        assert preset("fast", domain, setting, agent).episodes_between_evaluations is None
    assert [published_episodes(s) for s in ("op", "opl", "wod", "fr", "frl", "wd")] == [100_000] * 3 + [200_000] * 3


def test_only_large_evaluations_choose_options_for_more_episodes_at_a_time() -> None:
    assert for_evaluation(CONFIG, 10) == replace(CONFIG, evaluate_steps=None)
    assert for_evaluation(CONFIG, 13_000).fill_together > 500
