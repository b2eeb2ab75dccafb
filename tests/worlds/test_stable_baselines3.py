"""Agents of Stable-Baselines3 on environments with hierarchies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stable_baselines3 import DQN
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv

import rewardmachines as rm
from envs.spoken_labels import END, wrapped
from rewardmachines.agents.stable_baselines3 import CounterfactualDictReplayBuffer, CounterfactualReplayBuffer
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import Verdict, verdict_of
from rewardmachines.envs import HierarchyWrapper, ScenarioEnv
from strategies import ALL_LABELS, hierarchies, labels

TASK = rm.compile_task("a ; (b & c)")


@pytest.mark.parametrize("options", [{}, {"shaping": 0.99}, {"reward": "environment"}, {"counterfactuals": True}])
def test_wrapped_environments_pass_the_checks_of_stable_baselines3(options: dict[str, Any]) -> None:
    check_env(wrapped(TASK, append_state=True, **options))


def one_hot(number: int, count: int) -> list[float]:
    return [float(i == number) for i in range(count)]


def expected(flat: rm.Hierarchy, spoken: list[int], ends: list[bool]) -> list[tuple[Any, ...]]:
    """The reference: each undecided state of the machine, and where the core leads it on the label of each step."""
    machine = flat[flat.root]
    rows: list[tuple[Any, ...]] = []
    for before, after, has_ended in zip(spoken, spoken[1:], ends, strict=False):
        for number, state in enumerate(machine.states):
            here = rm.HierarchyState(flat.root, state)
            if verdict_of(flat, here) is not Verdict.NEITHER:
                continue
            there = here if before == after else rm.step(flat, here, ALL_LABELS[after])
            verdict, count = verdict_of(flat, there), len(machine.states)
            rows.append(
                (
                    one_hot(before, len(ALL_LABELS)) + one_hot(number, count),
                    one_hot(after, len(ALL_LABELS)) + one_hot(machine.states.index(there.state), count),
                    END if has_ended else after,
                    float(verdict is Verdict.ACCEPT),
                    float(has_ended or verdict is not Verdict.NEITHER),
                )
            )
    return rows


@settings(max_examples=30)
@given(hierarchy=hierarchies(max_height=3), first=labels, actions=st.lists(st.integers(0, END), min_size=1, max_size=6))
def test_the_buffer_holds_what_the_core_makes_of_each_step_in_each_state(
    hierarchy: rm.Hierarchy, first: Label, actions: list[int]
) -> None:
    """Steps are taken by the vector environment of Stable-Baselines3, as its agents do, until the episode ends."""
    env = DummyVecEnv([lambda: wrapped(hierarchy, first=first, append_state=True, counterfactuals=True)])
    buffer = CounterfactualReplayBuffer(500, env.observation_space, env.action_space)
    seen, spoken, ends = env.reset(), [ALL_LABELS.index(first)], []
    for action in actions:
        following, rewards, dones, infos = env.step(np.array([action]))
        last = infos[0]["terminal_observation"][None] if dones[0] else following
        buffer.add(seen, last, np.array([action]), rewards, dones, infos)
        spoken.append(spoken[-1] if action == END else action)
        ends.append(action == END)
        seen = following
        if dones[0]:
            break
    flat = rm.minimize(rm.flatten(hierarchy))
    rows = expected(flat, spoken, ends)
    assert buffer.size() == len(rows)
    for i, (before, after, action, reward, done) in enumerate(rows):
        assert buffer.observations[i, 0].tolist() == before
        assert buffer.next_observations[i, 0].tolist() == after
        assert (buffer.actions[i, 0, 0], buffer.rewards[i, 0], buffer.dones[i, 0]) == (action, reward, done)
    assert not buffer.timeouts.any()


def test_a_time_limit_is_no_end_and_several_environments_are_kept_apart() -> None:
    firsts: list[Label] = [frozenset(), frozenset({"a"})]
    make = [
        lambda first=first: wrapped(TASK, first=first, most_steps=1, append_state=True, counterfactuals=True)
        for first in firsts
    ]
    env = DummyVecEnv(make)
    buffer = CounterfactualReplayBuffer(100, env.observation_space, env.action_space, n_envs=2)
    seen = env.reset()
    _, rewards, dones, infos = env.step(np.array([0, 0]))
    assert dones.all()
    assert all(info["TimeLimit.truncated"] for info in infos)
    last = np.stack([info["terminal_observation"] for info in infos])
    buffer.add(seen, last, np.array([0, 0]), rewards, dones, infos)
    rows = buffer.size()
    assert rows == 4, "of a, b and c, any but all may have been seen in order"
    assert not buffer.dones[:rows].any()
    width = len(ALL_LABELS)
    for i, first in enumerate(firsts):
        assert (buffer.observations[:rows, i, :width].argmax(axis=1) == ALL_LABELS.index(first)).all()


def test_pictures_are_pairs_and_have_a_buffer_of_their_own() -> None:
    env = HierarchyWrapper(
        ScenarioEnv("craftworld", "op"), rm.compile_task("iron ; table"), append_state=True, counterfactuals=True
    )
    buffer = CounterfactualDictReplayBuffer(10, env.observation_space, env.action_space)
    before = env.reset(seed=0)[0]
    after, reward, done, _, info = env.step(0)
    many = [{name: part[None] for name, part in one.items()} for one in (before, after)]
    buffer.add(many[0], many[1], np.array([0]), np.array([reward]), np.array([done]), [info])
    assert buffer.observations["task"][:2, 0].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert (buffer.next_observations["observation"][:2, 0] == after["observation"]).all()


def test_an_agent_has_an_experience_for_each_step_and_undecided_state() -> None:
    env = wrapped(rm.compile_task("a ; b"), most_steps=20, append_state=True, counterfactuals=True, shaping=0.9)
    agent = DQN("MlpPolicy", env, replay_buffer_class=CounterfactualReplayBuffer, learning_starts=10, seed=0)
    agent.learn(60)
    assert agent.replay_buffer.size() == 120


def test_what_does_not_fit_is_refused() -> None:
    env = wrapped(TASK, append_state=True)
    with pytest.raises(RewardMachineError, match="append_state=True, counterfactuals=True"):
        DQN("MlpPolicy", env, replay_buffer_class=CounterfactualReplayBuffer, learning_starts=1).learn(2)
    with pytest.raises(RewardMachineError, match="no optimize_memory_usage"):
        CounterfactualReplayBuffer(10, env.observation_space, env.action_space, optimize_memory_usage=True)
