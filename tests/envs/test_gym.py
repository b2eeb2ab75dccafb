from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rewardmachines as rm
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import IDS, HierarchyWrapper, LabelingWrapper, ScenarioEnv, ScenarioVectorEnv, advance, begin
from rewardmachines.envs.gymnasium.checks.faults import LabelingError


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
            action = int(actions.integers(env.action_space.n))
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


# -- one's own environments


class Corridor(gymnasium.Env[np.int64, np.int64]):
    """Five cells in a row; the last one is the end, and worth 1, the first is worth nothing."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Discrete(5)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.cell = 2

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 2
        return np.int64(self.cell), {"lit": True}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        self.cell += 1 if action else -1
        return np.int64(self.cell), float(self.cell == 4), self.cell in (0, 4), False, {"lit": False}


NAMES = ["left", "middle", "right"]


def labels(cell: int) -> set[str]:
    return {NAMES[cell - 1]} if 1 <= cell <= 3 else set()


def corridor(**options: Any) -> LabelingWrapper:
    return LabelingWrapper(Corridor(), **{"labels": labels, "propositions": NAMES, **options})


def test_labels_and_outcomes_are_in_info() -> None:
    env = corridor()
    assert env.reset()[1]["label"] == {"middle"}
    *_, info = env.step(1)
    assert (info["label"], info["outcome"]) == ({"right"}, "incomplete")
    *_, terminated, _, info = env.step(1)
    assert (terminated, info["outcome"]) == (True, "goal")
    env.reset()
    env.step(0)
    assert env.step(0)[4]["outcome"] == "dead_end"


def test_goals_can_be_defined() -> None:
    env = corridor(goal=lambda observation, reward, terminated, info: int(observation) == 0)
    env.reset()
    env.step(0)
    assert env.step(0)[4]["outcome"] == "goal"


def test_labelling_functions_may_look_at_info_and_environment() -> None:
    def two(cell: int, info: dict[str, Any]) -> set[str]:
        return labels(cell) if info["lit"] else set()

    def three(cell: int, info: dict[str, Any], env: Any) -> set[str]:
        return labels(env.unwrapped.cell)

    env = corridor(labels=two)
    assert env.reset()[1]["label"] == {"middle"}
    assert env.step(1)[4]["label"] == set()
    env = corridor(labels=three)
    env.reset()
    assert env.step(1)[4]["label"] == {"right"}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda cell: {"midle"}, "returned 'midle', which is not among the propositions .* did you mean 'middle'"),
        (lambda cell: "middle", "returned the text 'middle': return a set, such as {'middle'}"),
        (lambda cell: None, "returned None: return a set of propositions"),
        (lambda cell: 1 / 0, "failed with ZeroDivisionError: division by zero .observation: "),
    ],
)
def test_labelling_functions_that_fail_are_named(function: Any, message: str) -> None:
    with pytest.raises(LabelingError, match=message):
        corridor(labels=function).reset()


def test_labelling_functions_of_no_or_too_many_arguments_are_refused() -> None:
    def none() -> Iterable[str]:
        return []

    with pytest.raises(LabelingError, match="takes \\(observation\\)"):
        corridor(labels=none)


def test_the_hierarchy_gives_reward_and_termination() -> None:
    env = HierarchyWrapper(corridor(), rm.compile_task("middle ; left ; middle"))
    _, info = env.reset()
    assert info["verdict"] == "neither"
    assert "u1" in info["hierarchy_state"], "the first label is fed at reset"
    assert env.step(0)[1:4] == (0.0, False, False)
    _, reward, terminated, _, info = env.step(1)
    assert (reward, terminated, info["verdict"]) == (1.0, True, "accept")


def test_the_hierarchy_advances_on_events_only() -> None:
    class Standing(Corridor):
        def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
            return np.int64(self.cell), 0.0, False, False, {}

    env = HierarchyWrapper(
        LabelingWrapper(Standing(), labels=labels, propositions=NAMES), rm.compile_task("middle ; middle")
    )
    env.reset()
    assert env.step(0)[2] is False


def test_an_environment_that_ends_by_itself_ends_the_episode_without_reward() -> None:
    env = HierarchyWrapper(corridor(), rm.compile_task("left ; right"))
    env.reset()
    env.step(1)
    assert env.step(1)[1:4] == (0.0, True, False)


def test_the_state_of_the_task_can_be_seen() -> None:
    task = rm.compile_task("left ; right")
    env = HierarchyWrapper(corridor(), task, append_state=True)
    assert env.observation_space == gymnasium.spaces.Box(0, 1, (5 + 3,), np.float32)
    first = env.reset()[0]
    assert first.tolist() == [0, 0, 1, 0, 0, 1, 0, 0]
    assert env.step(0)[0].tolist() == [0, 1, 0, 0, 0, 0, 1, 0]
    assert env.observation_space.contains(first)
    picture = HierarchyWrapper(ScenarioEnv("craftworld", "op"), rm.compile_task("iron"), append_state=True)
    seen = picture.reset(seed=0)[0]
    assert picture.observation_space.contains(seen)
    assert seen["task"].tolist() == [1, 0]
    water = HierarchyWrapper(ScenarioEnv("waterworld", "wod"), rm.compile_task("red"), append_state=True)
    assert water.reset(seed=0)[0].shape == (54,)
    assert jnp.asarray(water.reset(seed=0)[0]).dtype == jnp.float32


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(RewardMachineError, match="not labelled: wrap it in LabelingWrapper"):
        HierarchyWrapper(Corridor(), rm.compile_task("a"))
    with pytest.raises(
        RewardMachineError, match=r"mentions 'lefft', but the environment only knows .* did you mean 'left'"
    ):
        HierarchyWrapper(corridor(), rm.compile_task("lefft"))
