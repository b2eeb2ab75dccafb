"""How long a run may take, and what the preset of the paper says about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardmachines.agents.presets import Preset
from rewardmachines.cli.commands.learn import Learn
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.presets import lhrm_preset, published_learning_episodes
from rewardmachines.lhrm.spec import LearnOrder, standard_learning
from rewardmachines.runs.budget import Budget

PAPER = standard_learning("craftworld", "op", ["bucket"], settings="paper")


def test_the_preset_of_the_paper_evaluates_after_a_hundred_episodes_with_its_weight() -> None:
    for setting in ("op", "frl"):
        agent = lhrm_preset("paper", "craftworld", setting).agent
        assert (agent.evaluate_episodes, agent.curriculum_weight) == (100, 0.99)
    assert lhrm_preset("fast", "craftworld", "op").agent.evaluate_episodes is None


@pytest.mark.parametrize(
    ("setting", "episodes"), [("op", 150_000), ("opl", 150_000), ("fr", 300_000), ("frl", 300_000), ("wd", 300_000)]
)
def test_the_preset_of_the_paper_learns_for_as_many_episodes_as_published(setting: str, episodes: int) -> None:
    assert published_learning_episodes(setting) == episodes
    command = Learn(domain="craftworld", setting="op", preset=Preset.PAPER)
    assert command._budget(PAPER).episodes == published_learning_episodes("op")


def test_a_budget_that_is_given_replaces_the_published_one(tmp_path: Path) -> None:
    both = Learn(domain="craftworld", preset=Preset.PAPER, budget="2h", episodes=7)._budget(PAPER)
    assert (both.steps, both.seconds, both.episodes) == (None, 7200.0, 7)
    timed = Learn(domain="craftworld", preset=Preset.PAPER, budget="500000")._budget(PAPER)
    assert (timed.steps, timed.seconds, timed.episodes) == (500_000, None, None)
    resumed = Learn(preset=Preset.PAPER, resume=True, output=tmp_path)._budget(None)
    assert (resumed.steps, resumed.seconds, resumed.episodes) == (None, None, None)


def test_budgets_that_make_no_sense_are_refused() -> None:
    with pytest.raises(RewardMachineError, match="at least one episode"):
        LearnOrder(PAPER, Budget(episodes=0), 0.95)
    with pytest.raises(RewardMachineError, match="would never end"):
        LearnOrder(PAPER, Budget(), 0)
    assert LearnOrder(PAPER, Budget(episodes=1), 0).budget.episodes == 1
