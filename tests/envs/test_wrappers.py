"""Environments of one's own: labelled, and with the reward and the end of a task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

import rewardmachines as rm
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper, ScenarioEnv
from rewardmachines.envs.gymnasium.checks import LabelingError


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
