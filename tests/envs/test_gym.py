"""The domains as environments of Gymnasium: one episode at a time, and many side by side."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rewardmachines as rm
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import IDS, ScenarioEnv, ScenarioVectorEnv, advance, begin


def make(identifier: str, **options: Any) -> ScenarioEnv:
    env = gymnasium.make(identifier, **options).unwrapped
    assert isinstance(env, ScenarioEnv)
    return env


@pytest.mark.parametrize("identifier", IDS)
def test_every_registered_environment_passes_gymnasiums_own_checks(identifier: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(identifier, render_mode="rgb_array"))


@pytest.mark.parametrize("identifier", ["rewardmachines/CraftWorld-OPL-v0", "rewardmachines/WaterWorld-WD-v0"])
def test_the_gymnasium_face_replays_the_functional_one(identifier: str) -> None:
    env = make(identifier, max_steps=60)
    environment, world, tables = env.scenario.environment, env.scenario.world, env.lowered.tables
    actions = np.random.default_rng(0)

    @jax.jit
    def start(instance: int) -> Any:
        return begin(environment, world, tables, instance, env.lowered.root)

    @jax.jit
    def take(episode: Any, action: int) -> Any:
        return advance(environment, world, tables, episode, action, max_steps=60)

    @jax.jit
    def see(episode: Any) -> Any:
        return environment.observe(world, episode.state)

    for instance in (0, 4):
        observation, info = env.reset(options={"instance": instance})
        episode = start(instance)
        done = False
        while not done:
            assert np.array_equal(observation, see(episode))
            assert info["label"] == environment.bits.decode(np.asarray(episode.label))
            action = int(actions.integers(env.scenario.environment.actions))
            observation, reward, terminated, truncated, info = env.step(action)
            episode, outcome = take(episode, action)
            assert (reward, terminated, truncated) == tuple(
                float(x) if i == 0 else bool(x)
                for i, x in enumerate((outcome.reward, outcome.terminated, outcome.truncated))
            )
            assert info["goal"] == bool(outcome.goal)
            done = terminated or truncated


def test_a_solved_task_is_rewarded_and_ends() -> None:
    env = make("rewardmachines/CraftWorld-OP-v0", task="bucket")
    rewards = []
    env.action_space.seed(1)
    for episode in range(20):
        env.reset(seed=episode)
        done = False
        while not done:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            done = terminated or truncated
        rewards.append(reward)
        assert (reward == 1.0) == info["goal"] == (info["verdict"] == "accept")
    assert sum(rewards) > 0


def test_seeds_choose_instances() -> None:
    env = make("rewardmachines/CraftWorld-OP-v0")
    chosen = [env.reset(seed=seed)[1]["instance"] for seed in range(30)]
    assert chosen == [env.reset(seed=seed)[1]["instance"] for seed in range(30)]
    assert len(set(chosen)) > 5
    assert make("rewardmachines/CraftWorld-OP-v0", instance=3).reset(seed=0)[1]["instance"] == 3


def test_tasks_may_be_hierarchies_of_ones_own() -> None:
    task = rm.compile_task("iron | cow")
    env = make("rewardmachines/CraftWorld-FR-v0", task=task, observation="one-hot")
    assert env.reset(seed=0)[0].shape == (16, 13, 13)
    assert env.hierarchy == task


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "boook"}, "did you mean 'book'"),
        ({"instance": 10}, "there is no instance 10: they are 0 to 9"),
        ({"render_mode": "3d"}, "render_mode is one of rgb_array, human, ansi"),
        ({"task": rm.compile_task("gold")}, "'gold' has no bit"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        ScenarioEnv("craftworld", "op", **options)


def test_wrong_use_is_refused() -> None:
    env = ScenarioEnv("craftworld", "op")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset()
    with pytest.raises(RewardMachineError, match="7 is no action: they are 0 to 2"):
        env.step(7)
    with pytest.raises(RewardMachineError, match="3 tasks for 2 environments"):
        ScenarioVectorEnv("craftworld", "op", ["book", "map", "cake"], num_envs=2)
    vector = ScenarioVectorEnv("craftworld", "op", num_envs=2)
    for face, instance in ((env, 10), (vector, 10), (vector, [0, -1])):
        with pytest.raises(RewardMachineError, match=r"there is no instance (10|-1): they are 0 to 9"):
            face.reset(options={"instance": instance})


def test_pictures_and_text_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    for identifier in IDS:
        env = make(identifier, render_mode="rgb_array")
        env.reset(seed=0)
        pixels = env.render()
        assert pixels.dtype == np.uint8
        assert pixels.ndim == 3
        text_env = make(identifier, render_mode="ansi")
        text_env.reset(seed=0)
        assert len(text_env.render().splitlines()) >= 7
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    human = make("rewardmachines/CraftWorld-OP-v0", render_mode="human")
    human.metadata["render_fps"] = 1000
    human.reset(seed=0)
    human.step(0)
    human.close()


def test_the_vector_face_is_so_many_single_ones() -> None:
    tasks = ["bucket", "paper", "book", "leather"]
    vector = gymnasium.make_vec(
        "rewardmachines/CraftWorld-OPL-v0",
        num_envs=4,
        task=tasks,
        max_steps=25,
        instance=2,
        vectorization_mode="vector_entry_point",
    )
    singles = [make("rewardmachines/CraftWorld-OPL-v0", task=task, max_steps=25, instance=2) for task in tasks]
    observations, infos = vector.reset(seed=0)
    for i, env in enumerate(singles):
        observation, info = env.reset()
        assert np.array_equal(observations[i], observation)
        assert infos["label"][i] == info["label"]
    actions = np.random.default_rng(1)
    ended = 0
    for _ in range(120):
        chosen = actions.integers(3, size=4)
        observations, rewards, terminated, truncated, infos = vector.step(chosen)
        for i, env in enumerate(singles):
            observation, reward, done, cut, info = env.step(int(chosen[i]))
            assert (rewards[i], terminated[i], truncated[i]) == (reward, done, cut)
            assert infos["goal"][i] == info["goal"]
            if done or cut:
                ended += 1
                assert infos["_final_obs"][i]
                assert infos["_final_info"][i]
                assert np.array_equal(infos["final_obs"][i], observation)
                assert infos["final_info"]["label"][i] == info["label"]
                observation, info = env.reset()
            assert infos["label"][i] == info["label"]
            assert np.array_equal(observations[i], observation)
    assert ended >= 12
