"""Words for tasks in Gymnasium environments that are not learned."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import pytest

from rewardmachines.agents.gymnasium.diagnosis import NotLearnedWarning
from rewardmachines.envs import LabelingWrapper
from rewardmachines.lhrm.diagnosis import diagnosis_of
from rewardmachines.lhrm.learn_gymnasium import LHRM_GYMNASIUM, learn_gymnasium
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask


def test_what_keeps_tasks_from_being_learned_comes_with_what_to_change() -> None:
    problems = {
        "hut": "no goal trace of hut was seen in 90 episodes",
        "round": "level 2 has to wait: level 1 is not ...",
    }
    found = diagnosis_of(problems, ("hut", "buoy"), [frozenset({"hut"})], 1_000, cut_off=90)
    assert [finding.what for finding in found.findings] == [
        "'buoy' was never observed in 1,000 steps",
        *(f"{name}: {problem}" for name, problem in problems.items()),
    ]
    assert "persistence" in found.findings[1].advice
    assert "make episodes longer" in found.findings[0].advice
    assert "make episodes longer" in found.findings[1].advice
    assert "make episodes longer" not in str(diagnosis_of(problems, ("buoy",), [], 1_000, cut_off=0))
    assert not diagnosis_of({}, ("hut",), [], 1_000, cut_off=0)


def unlabelled() -> LabelingWrapper:
    return LabelingWrapper(gymnasium.make("MountainCar-v0"), labels=lambda _: set(), propositions=["hut"])


def test_a_run_that_learned_nothing_warns_at_its_end_and_not_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(LHRM_GYMNASIUM, agent=replace(LHRM_GYMNASIUM.agent, environments=4, chunk=25, evaluate_every=9))
    task = GymTask("errand", 1, unlabelled)
    learn_gymnasium([task], steps=200, max_steps=20, config=config)
    monkeypatch.setattr("rewardmachines.lhrm.learn_gymnasium.LEAST_STEPS", 200)
    with pytest.warns(NotLearnedWarning, match="'hut' was never observed in 200 steps") as caught:
        learned = learn_gymnasium([task], steps=200, max_steps=20, config=config)
    (warning,) = [one for one in caught if one.category is NotLearnedWarning]
    assert str(learned.diagnosis) in str(warning.message)
    assert warning.filename == __file__


def test_what_is_missing_is_judged_by_the_return_with_which_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a run could end, as good enough, with a warning that its tasks are not learned."""
    config = replace(LHRM_GYMNASIUM, agent=replace(LHRM_GYMNASIUM.agent, environments=4, chunk=25, evaluate_every=9))
    learned = learn_gymnasium([GymTask("errand", 1, unlabelled)], steps=200, max_steps=20, config=config, stop_at=0.6)
    judge = "rewardmachines.lhrm.learn_gymnasium.what_is_missing"
    monkeypatch.setattr(judge, lambda _, __, stop_at: {"errand": f"{stop_at} is asked for"})
    assert learned.problems == {"errand": "0.6 is asked for"}
    assert learned.worlds.cut_off > 0
