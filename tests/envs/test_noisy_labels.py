"""Environments that show wrong labels and wrong outcomes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from envs.test_wrappers import NAMES, corridor
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import LabelingWrapper, NoisyLabels
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv
from rewardmachines.rollout.gym_driver import GymTask
from rewardmachines.rollout.gym_environments import Environments
from rewardmachines.rollout.interface import interface_of

EPISODES = 2_000
FEW, MANY = 0.05, 0.3


def end_of(env: gymnasium.Env[Any, Any], actions: list[int]) -> tuple[bool, bool, str]:
    for action in actions:
        _, _, terminated, truncated, info = env.step(action)
    return bool(terminated), bool(truncated), info["outcome"]


def share(is_wrong: list[bool]) -> float:
    return sum(is_wrong) / len(is_wrong)


def within(rate: float, count: int) -> Any:
    """Four standard deviations of a binomial distribution."""
    return pytest.approx(rate, abs=4 * (rate * (1 - rate) / count) ** 0.5)


@pytest.mark.parametrize("rate", [FEW, MANY])
def test_as_many_outcomes_are_wrong_as_the_rate_says(rate: float) -> None:
    env = NoisyLabels(corridor(), outcomes=rate)
    goals, ends = [], []
    for seed in range(EPISODES):
        env.reset(seed=seed)
        goals.append(end_of(env, [1, 1]))
        env.reset(seed=seed)
        ends.append(end_of(env, [0, 0]))
    assert set(goals) == {(True, False, "goal"), (False, True, "incomplete")}
    assert set(ends) == {(True, False, "dead_end"), (True, False, "goal")}
    assert share([outcome == "incomplete" for *_, outcome in goals]) == within(rate, EPISODES)
    assert share([outcome == "goal" for *_, outcome in ends]) == within(rate, EPISODES)


def test_an_episode_without_an_end_may_seem_to_reach_the_goal() -> None:
    env = NoisyLabels(gymnasium.wrappers.TimeLimit(corridor(), 1), outcomes=MANY)
    seen = []
    for seed in range(EPISODES):
        env.reset(seed=seed)
        seen.append(end_of(env, [1]))
    assert set(seen) == {(False, True, "incomplete"), (True, False, "goal")}
    assert share([terminated for terminated, *_ in seen]) == within(MANY, EPISODES)


@pytest.mark.parametrize("rate", [FEW, MANY])
def test_as_many_label_events_are_wrong_as_the_rate_says(rate: float) -> None:
    env = NoisyLabels(corridor(), labels=rate)
    first, second = [], []
    for seed in range(EPISODES):
        first.append(env.reset(seed=seed)[1]["label"])
        second.append(env.step(1)[4]["label"])
    assert share([label != {"middle"} for label in first]) == within(rate, EPISODES)
    assert share([label != {"right"} for label in second]) == within(rate, EPISODES)
    assert set(first) == {frozenset(), *(frozenset({name}) for name in NAMES)}
    assert set(map(frozenset, NoisyLabels(corridor(), alphabet=[NAMES, []])._alphabet)) == {
        frozenset(NAMES),
        frozenset(),
    }


def test_a_wrong_label_stays_until_the_next_event() -> None:
    still = LabelingWrapper(gymnasium.make("CartPole-v1"), labels=lambda _: {"on"}, propositions=["on", "off"])
    env = NoisyLabels(still, labels=MANY)
    for seed in range(40):
        shown = {env.reset(seed=seed)[1]["label"], *(env.step(step % 2)[4]["label"] for step in range(8))}
        assert len(shown) == 1


def test_equal_seeds_and_actions_show_the_same_and_others_do_not() -> None:
    def seen(seeds: range, last: int) -> list[Any]:
        env, shown = NoisyLabels(corridor(), labels=MANY, outcomes=MANY), []
        for seed in seeds:
            shown.append(env.reset(seed=seed)[1]["label"])
            shown.append(end_of(env, [last, 1 - last, last, last]))
        return shown

    assert seen(range(50), 1) == seen(range(50), 1)
    assert seen(range(50), 1) != seen(range(50, 100), 1)
    assert seen(range(50), 1)[::2] == seen(range(50), 0)[::2]
    assert seen(range(50), 1) != seen(range(50), 0)


def test_episodes_without_a_seed_differ_and_follow_from_the_last_seed() -> None:
    def ends() -> list[Any]:
        env = NoisyLabels(corridor(), outcomes=MANY)
        env.reset(seed=1)
        found = [end_of(env, [1, 1])]
        for _ in range(30):
            env.reset()
            found.append(end_of(env, [1, 1]))
        return found

    assert ends() == ends()
    assert len(set(ends())) == 2


def test_a_begun_episode_can_be_replayed() -> None:
    def made() -> gymnasium.Env[Any, Any]:
        return NoisyLabels(corridor(), labels=MANY, outcomes=MANY)

    task = GymTask("go", 1, made)
    interface = interface_of([task], [CheckedEnv(made())], None)
    one, again = (Environments([task], interface, interface.codes(None), 8, 100, 3) for _ in range(2))
    zeros = np.zeros(8, np.int32)
    one.begin(range(8), zeros, zeros)
    one.step(range(8), np.ones(8, np.int32))
    assert not again.replay(one.records()).any()
    assert again.labels == one.labels


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(RewardMachineError, match="not labelled"):
        NoisyLabels(gymnasium.make("CartPole-v1"))
    with pytest.raises(RewardMachineError, match=r"wrong outcomes is at least 0 and below 0\.5, not 0\.5"):
        NoisyLabels(corridor(), outcomes=0.5)
    with pytest.raises(RewardMachineError, match="at least two"):
        NoisyLabels(corridor(), labels=0.1, alphabet=[["left"]])
