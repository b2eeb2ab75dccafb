"""Continuous actions as a grid: which there are, what the environment gets, and what is refused."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import DiscreteActions


class Arm(gymnasium.Env[Any, Any]):
    """Remembers its last action."""

    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, action_space: spaces.Space[Any]) -> None:
        self.action_space = action_space
        self.last: Any = None

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.last = action
        return np.zeros(1, np.float32), 0.0, False, False, {}


def box(*bounds: tuple[float, float]) -> spaces.Box:
    low, high = zip(*bounds, strict=True)
    return spaces.Box(np.array(low, np.float32), np.array(high, np.float32))


def test_levels_are_evenly_spaced_and_include_the_bounds() -> None:
    env = DiscreteActions(gymnasium.make("Pendulum-v1"), levels=5)
    assert env.action_space == spaces.Discrete(5)
    assert env.actions.tolist() == [[-2.0], [-1.0], [0.0], [1.0], [2.0]]


def test_each_dimension_can_have_levels_of_its_own() -> None:
    env = DiscreteActions(Arm(box((-1, 1), (0, 4), (2, 6))), levels=[2, 3, 1])
    assert env.actions.tolist() == [[x, y, 4.0] for x in (-1.0, 1.0) for y in (0.0, 2.0, 4.0)]


@given(
    bounds=st.lists(st.tuples(st.floats(-9, 0, width=32), st.floats(0.25, 9, width=32)), min_size=1, max_size=3),
    levels=st.integers(2, 5),
)
def test_every_choice_is_another_action_that_the_environment_allows(
    bounds: list[tuple[float, float]], levels: int
) -> None:
    arm = Arm(box(*bounds))
    env: Any = DiscreteActions(arm, levels)
    assert env.action_space.n == levels ** len(bounds)
    seen = set()
    for choice in range(int(env.action_space.n)):
        env.step(choice)
        seen.add(tuple(arm.last.tolist()))
    assert len(seen) == env.action_space.n


@pytest.mark.parametrize(
    ("space", "levels", "words"),
    [
        (spaces.Discrete(3), 3, "only vectors"),
        (spaces.Box(-1.0, 1.0, (2, 2)), 3, "only vectors"),
        (spaces.Box(0, 9, (2,), np.int32), 3, "whole numbers already"),
        (spaces.Box(-np.inf, np.inf, (1,)), 3, "RescaleAction"),
        (box((-1, 1)), [3, 3], "2 numbers of levels for actions of 1"),
        (box((-1, 1)), 0, "at least one level"),
        (box((-1, 1)), 1, "1 actions: there must be 2"),
        (box(*[(-1, 1)] * 17), 3, "129,140,163 actions"),
    ],
)
def test_what_makes_no_grid_is_refused_in_one_line(space: spaces.Space[Any], levels: Any, words: str) -> None:
    with pytest.raises(RewardMachineError, match=words) as problem:
        DiscreteActions(Arm(space), levels)
    assert "\n" not in str(problem.value)


def test_an_environment_cannot_change_what_an_action_means() -> None:
    env = DiscreteActions(Arm(box((-1, 1))))
    with pytest.raises(ValueError, match="read-only"):
        env.action(0)[0] = 5.0
