"""How long a run may take, and what the preset of the paper says about it."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from lhrm.toy import MAX_STEPS, TWO_ROOMS, quickly, two_rooms_registered
from rewardmachines.agents.presets import Preset
from rewardmachines.agents.training.spec import standard_spec
from rewardmachines.cli.commands.learn import Learn
from rewardmachines.cli.commands.train import Train
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import domain as find_domain
from rewardmachines.experiments.plan import planned_runs
from rewardmachines.experiments.study import load_study
from rewardmachines.learning import Budget as LearnerBudget
from rewardmachines.learning import LearningTask, Result, TimedOut
from rewardmachines.lhrm.learn import learn
from rewardmachines.lhrm.presets import lhrm_preset, published_learning_episodes
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec, standard_learning
from rewardmachines.reports.summary import summarize
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


def test_runs_as_published_go_on_to_their_last_episode(tmp_path: Path) -> None:
    for preset, stop_at in ((Preset.PAPER, 0.0), (Preset.TABLE, 0.95), (Preset.FAST, 0.95)):
        learned = Learn(domain="craftworld", preset=preset)
        assert learned._order(tmp_path, PAPER, Budget(episodes=1)).stop_at == stop_at
        trained = standard_spec("craftworld", "op", "bucket", settings=preset)
        assert Train(domain="craftworld", preset=preset)._order(tmp_path, trained, Budget(1)).stop_at == stop_at
    assert Learn(preset=Preset.PAPER, stop_at=0.5)._order(tmp_path, PAPER, Budget()).stop_at == 0.5
    (anchor,) = planned_runs(load_study("paper/anchor"))
    assert isinstance(anchor.order, LearnOrder)
    assert (anchor.order.stop_at, anchor.order.budget.episodes) == (0.0, 150_000)
    for run in planned_runs(load_study("paper/default")):
        assert isinstance(run.order, LearnOrder)
        assert run.order.stop_at == find_domain(run.order.spec.domain).solved_return


def test_budgets_that_make_no_sense_are_refused() -> None:
    with pytest.raises(RewardMachineError, match="at least one episode"):
        LearnOrder(PAPER, Budget(episodes=0), 0.95)
    with pytest.raises(RewardMachineError, match="would never end"):
        LearnOrder(PAPER, Budget(), 0)
    assert LearnOrder(PAPER, Budget(episodes=1), 0).budget.episodes == 1


def test_the_preset_of_tables_has_fast_agents_that_digress_and_the_rules_of_the_paper() -> None:
    for setting, domain in (("op", "craftworld"), ("frl", "craftworld"), ("wd", "waterworld")):
        table, fast, paper = (lhrm_preset(name, domain, setting) for name in ("table", "fast", "paper"))
        assert table.agent == fast.agent
        assert replace(table, agent=paper.agent, digressions=0.0) == paper
        assert (table.digressions, fast.digressions, paper.digressions) == (0.004, 0.004, 0.0)
        assert (table.prefixes, fast.prefixes, paper.prefixes) == (False, True, False)
        assert (table.first_goals, table.goals, table.examples, table.run_learner_seconds) == (25, 150, 10, 7200)


class Slow:
    """A learner whose searches take as long as they may."""

    def __init__(self) -> None:
        self.given: list[float | None] = []

    def learn(self, task: LearningTask, budget: LearnerBudget, refuted: Collection[int] = ()) -> Result:
        self.given.append(budget.seconds)
        time.sleep(budget.seconds or 0)
        return TimedOut(3, (), budget.seconds or 0, 1)


def test_a_run_ends_when_its_searches_have_taken_all_their_time(tmp_path: Path) -> None:
    config = quickly(learner_seconds=0.2, run_learner_seconds=0.3, first_goals=2, goals=2, examples=1)
    spec = LearnSpec(TWO_ROOMS.name, "plain", ("fetch", "press"), config, instances=1, max_steps=MAX_STEPS)
    learner = Slow()
    with two_rooms_registered():
        run = learn(tmp_path / "run", spec, learner=learner, steps=200_000)
        assert run.rows()[-1].steps < 200_000
        assert "searches for machines took the 0.3 seconds" in summarize(run).why
    assert learner.given[0] == 0.2
    assert all(0 < (seconds or 0) <= 0.2 for seconds in learner.given)
    assert (learner.given[1] or 0) < 0.11
    assert sum(learning.seconds for learning in run.learnings().values()) < 1
