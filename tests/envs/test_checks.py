"""What an environment may return, and the one line that says what it may not."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import rewardmachines as rm
from envs.broken_rules import (
    AT_2,
    OBSERVATIONS_REFUSED,
    RESETS_REFUSED,
    STEPS_REFUSED,
    failing,
    one_line,
    space_of,
    told_by,
)
from envs.rover import BOX, Rover, drive, label_of, labelled, seen
from rewardmachines.envs import HierarchyWrapper
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv
from rewardmachines.envs.gymnasium.checks import OutOfBoundsWarning
from rewardmachines.envs.label_statistics import random_episodes

TASK = rm.compile_task("left ; right")
STEP = "Rover, step 2 of episode 1: "
RESET = "Rover, reset of episode 1: "


@pytest.mark.parametrize(("space", "observation", "fault"), OBSERVATIONS_REFUSED)
def test_an_observation_that_is_not_of_the_space_is_refused(space: Any, observation: Any, fault: str) -> None:
    expected = f"{STEP}a wrong observation: {fault} (observation: {one_line(observation)})"
    rover = Rover(space=space, show=lambda _: observation)
    assert str(told_by(lambda: drive(labelled(rover, lambda _: set())))) == expected
    own = Rover(space=space, show=lambda _: observation, label=lambda _: set())
    assert str(told_by(lambda: drive(HierarchyWrapper(own, TASK)))) == expected
    assert str(told_by(lambda: list(random_episodes(own, [0], 9)))) == expected


@pytest.mark.parametrize(
    ("space", "observation"),
    [
        (BOX, np.array([2, 0])),
        (BOX, np.array([2, 0], np.float64)),
        (BOX, [2.0, 0]),
        (space_of(2, high=1e38), np.array([9e37, 9e37], np.float32)),
        (space_of(2, low=0, high=255, dtype=np.uint8), np.array([2, 255])),
        (space_of(2, low=0, high=255, dtype=np.uint8), np.array([True, False])),
        (space_of(2, dtype=np.float64), seen(2)),
        (spaces.Discrete(9), np.int32(2)),
        (spaces.Discrete(9), np.array(2)),
        (spaces.Dict({"at": BOX}), {"at": seen(2), "more": None}),
    ],
)
def test_observations_of_another_precision_are_allowed(space: Any, observation: Any) -> None:
    env = labelled(Rover(space=space, show=lambda _: observation), lambda _: set())
    assert len(drive(env)) == 7


def test_leaving_the_bounds_of_floats_is_told_once_as_a_warning() -> None:
    narrow = labelled(Rover(space=space_of(2, high=5)))
    message = re.escape("Rover: observations leave their space: number 0 is 6.0, but the space has numbers from -10.0 ")
    with pytest.warns(OutOfBoundsWarning, match=message) as caught:
        [drive(narrow) for _ in range(200)]
    assert len(caught) == 1
    with pytest.warns(OutOfBoundsWarning, match=r"number 0 is 0\.0"):
        labelled(Rover(space=space_of(2, low=1))).reset()
    parts = Rover(space=spaces.Dict({"at": space_of(2, low=1)}))
    with pytest.warns(OutOfBoundsWarning, match=r"in its part 'at', number 0 is 0\.0"):
        labelled(parts, lambda _: set()).reset()


# -- reset and step


@pytest.mark.parametrize(("step", "fault"), STEPS_REFUSED)
def test_what_step_must_not_return_is_refused(step: Callable[..., Any], fault: str) -> None:
    assert str(told_by(lambda: drive(labelled(Rover(step=step))))) == STEP + fault
    own = Rover(step=step, label=label_of)
    error = told_by(lambda: drive(HierarchyWrapper(own, TASK)))
    assert str(error) == STEP + fault
    assert isinstance(error.__cause__, RuntimeError) == (step is failing)
    assert str(told_by(lambda: list(random_episodes(own, [0], 9)))) == STEP + fault


@pytest.mark.parametrize(("reset", "fault"), RESETS_REFUSED)
def test_what_reset_must_not_return_is_refused(reset: Callable[..., Any], fault: str) -> None:
    assert str(told_by(labelled(Rover(reset=reset)).reset)) == RESET + fault
    error = told_by(HierarchyWrapper(Rover(reset=reset, label=label_of), TASK).reset)
    assert str(error) == RESET + fault
    assert isinstance(error.__cause__, RuntimeError) == (reset is failing)


@pytest.mark.parametrize(
    "step",
    [
        lambda o, r, te, tr, i: [o, r, te, tr, i],
        lambda o, r, te, tr, i: (o, 0, np.False_, np.array(False), i),
        lambda o, r, te, tr, i: (o, np.array(0.5), te, tr, i),
        lambda o, r, te, tr, i: (o, True, te, tr, i),
    ],
)
def test_numbers_and_booleans_of_numpy_are_allowed(step: Callable[..., Any]) -> None:
    assert len(drive(labelled(Rover(step=step)))) == 7


def test_wrappers_of_gymnasium_that_unpack_too_few_values_are_explained() -> None:
    old = gymnasium.wrappers.TimeLimit(Rover(step=lambda o, r, te, tr, i: (o, r, te, i)), 9)
    assert str(told_by(lambda: drive(labelled(old)))) == (
        f"{STEP}step failed with ValueError: not enough values to unpack (expected 5, got 4); it must return "
        "(observation, reward, terminated, truncated, info)"
    )


def test_an_environment_that_labels_itself_must_do_so_at_every_step() -> None:
    silent = Rover(label=label_of, step=lambda o, r, te, tr, i: (o, r, te, tr, {}))
    assert str(told_by(lambda: drive(HierarchyWrapper(silent, TASK)))) == (
        f"{STEP}there is no label in info: wrap the environment in "
        f"LabelingWrapper(env, labels=..., propositions=[...]){AT_2}"
    )


def test_a_task_that_is_done_at_reset_ends_with_the_first_step() -> None:
    env = HierarchyWrapper(labelled(Rover(), lambda _: {"left"}), rm.compile_task("left"))
    assert env.reset()[1]["verdict"] == "accept"
    assert env.step(0)[1:4] == (1.0, True, False)


def test_what_is_no_environment_is_refused() -> None:
    error = told_by(lambda: CheckedEnv(3, task="key"))  # type: ignore[arg-type]
    assert str(error) == "task 'key': 3 is no Gymnasium environment"

    class Bare(gymnasium.Env[Any, Any]):
        pass

    assert str(told_by(lambda: labelled(Bare()))) == "Bare has no observation_space"


def test_errors_that_say_enough_are_passed_on() -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        labelled(gymnasium.make("FrozenLake-v1")).step(0)
    craft = HierarchyWrapper(gymnasium.make("rewardmachines/CraftWorld-OP-v0"), rm.compile_task("iron"))
    craft.reset(seed=0)
    with pytest.raises(rm.RewardMachineError, match=r"^7 is no action: they are 0 to 2$"):
        craft.step(7)


def test_wrapped_environments_can_be_copied() -> None:
    env = HierarchyWrapper(labelled(Rover()), TASK)
    env.reset()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert len(drive(twin)) == 7
    assert isinstance(env.unwrapped, Rover)
    assert env.unwrapped.cell == 0


def test_usual_environments_give_rise_to_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("CartPole-v1", "MountainCar-v0", "Acrobot-v1", "FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"):
            env = labelled(gymnasium.make(name), lambda _: set())
            env.reset(seed=0)
            for _ in range(200):
                *_, terminated, truncated, _ = env.step(env.action_space.sample())
                if terminated or truncated:
                    env.reset()
