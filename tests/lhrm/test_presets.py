"""The presets of LHRM, and the time that searches of a run may take."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

import pytest

from lhrm.toy import MAX_STEPS, TWO_ROOMS, quickly, two_rooms_registered
from rewardmachines.learning import Budget, LearningTask, Result, TimedOut
from rewardmachines.lhrm.presets import lhrm_preset, published_learning_episodes
from rewardmachines.runs.verbs import learn


def test_the_preset_of_the_paper_evaluates_after_a_hundred_episodes_with_its_weight() -> None:
    for setting in ("op", "frl"):
        agent = lhrm_preset("paper", "craftworld", setting).agent
        assert (agent.evaluate_every, agent.curriculum_weight) == ("100 episodes", 0.99)
    assert lhrm_preset("fast", "craftworld", "op").agent.episodes_between_evaluations is None


@pytest.mark.parametrize(
    ("setting", "episodes"), [("op", 150_000), ("opl", 150_000), ("fr", 300_000), ("frl", 300_000), ("wd", 300_000)]
)
def test_the_paper_learns_for_as_many_episodes_as_published(setting: str, episodes: int) -> None:
    assert published_learning_episodes(setting) == episodes


def test_the_preset_of_tables_has_fast_agents_with_detours_and_the_rules_of_the_paper() -> None:
    for setting, domain in (("op", "craftworld"), ("frl", "craftworld"), ("wd", "waterworld")):
        table, fast, paper = (lhrm_preset(name, domain, setting) for name in ("table", "fast", "paper"))
        assert table.agent == fast.agent
        assert replace(table, agent=paper.agent, detour_rate=0.0) == paper
        assert (table.detour_rate, fast.detour_rate, paper.detour_rate) == (0.004, 0.004, 0.0)
        assert (table.prefixes, fast.prefixes, paper.prefixes) == (False, True, False)
        assert (table.goals, table.examples, table.run_learner_seconds) == ((25, 150), 10, 7200)


class Slow:
    """A learner whose searches take as long as they may."""

    def __init__(self) -> None:
        self.given: list[float | None] = []

    def learn(self, task: LearningTask, budget: Budget, refuted: Collection[int] = ()) -> Result:
        self.given.append(budget.seconds)
        time.sleep(budget.seconds or 0)
        return TimedOut(3, (), budget.seconds or 0, 1)


def test_a_run_ends_when_its_searches_have_taken_all_their_time() -> None:
    config = quickly(learner_seconds=0.2, run_learner_seconds=0.3, goals=(2,), examples=1)
    learner = Slow()
    with two_rooms_registered():
        run = learn(
            TWO_ROOMS.name, settings=config, instances=1, max_steps=MAX_STEPS, learner=learner,
            steps=200_000,
        )  # fmt: skip
        assert run.rows[-1].steps < 200_000
        assert all("no machine was found" in message for message in run.missing.values() if "given up" in message)
    assert learner.given[0] == 0.2
    assert all(0 < (seconds or 0) <= 0.2 for seconds in learner.given)
    assert (learner.given[1] or 0) < 0.11
    assert sum(progress.seconds for progress in run.progress.values()) < 1
