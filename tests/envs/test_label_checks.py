"""What a labelling function may return, and the one line that says what it may not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import rewardmachines as rm
from envs.broken_rules import AT_2, LABELS_ALLOWED, LABELS_REFUSED, at_2, told_by
from envs.rover import PROPOSITIONS, Rover, drive, label_of, labelled
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.envs.gymnasium.checks import LabelingError
from rewardmachines.envs.label_statistics import random_episodes

TASK = rm.compile_task("left ; right")
STEP = "Rover, step 2 of episode 1: "


@pytest.mark.parametrize(("returned", "message"), LABELS_REFUSED)
def test_a_labelling_function_that_returns_something_else_is_refused(returned: Any, message: str) -> None:
    error = told_by(lambda: drive(labelled(Rover(), at_2(returned))))
    expected = message.format(repr(returned)) if message.startswith("{}") else message
    assert str(error) == f"{STEP}the labelling function returned {expected}{AT_2}"
    assert isinstance(error, LabelingError)


@pytest.mark.parametrize(("returned", "message"), LABELS_REFUSED)
def test_an_environment_that_labels_itself_is_held_to_the_same(returned: Any, message: str) -> None:
    expected = message.format(repr(returned)) if message.startswith("{}") else message
    for run in (
        lambda: drive(HierarchyWrapper(Rover(label=at_2(returned)), TASK)),
        lambda: list(random_episodes(Rover(label=at_2(returned)), [0], 9)),
    ):
        assert str(told_by(run)) == f"{STEP}info['label'] is {expected}{AT_2}"


@pytest.mark.parametrize(("returned", "label"), LABELS_ALLOWED)
def test_labels_mean_what_they_say(returned: Any, label: set[str]) -> None:
    own = Rover(label=at_2(returned))
    for env in (labelled(Rover(), at_2(returned)), HierarchyWrapper(own, TASK)):
        found = drive(env)[2]["label"]
        assert found == label
        assert type(found) is frozenset
    assert next(random_episodes(own, [0], 9))[2] == label


def test_what_the_labelling_function_raises_is_named_with_observation_and_step() -> None:
    def failing(observation: Any) -> set[str]:
        if observation[0] < 2:
            return set()
        raise KeyError("a line\nand another")

    error = told_by(lambda: drive(labelled(Rover(), failing)))
    assert str(error) == f"{STEP}the labelling function failed with KeyError: 'a line\\nand another'{AT_2}"
    assert isinstance(error.__cause__, KeyError)


def test_steps_are_counted_from_the_last_reset() -> None:
    env = labelled(Rover(), lambda observation: None if drives == 2 and observation[0] == 3 else set())
    drives = 1
    drive(env)
    drives = 2
    assert str(told_by(lambda: drive(env))).startswith("Rover, step 3 of episode 2: the labelling function returned")


def test_long_observations_are_shortened_and_names_are_those_of_gymnasium() -> None:
    env = labelled(gymnasium.make("FrozenLake-v1"), lambda observation: "left")
    assert str(told_by(env.reset)).startswith("FrozenLake-v1, reset of episode 1: the labelling function returned")
    large = Rover(space=spaces.Box(-10, 10, (50, 50), np.float32))
    message = str(told_by(labelled(large, lambda observation: None).reset))
    assert re.search(r"\(observation: array\(\[\[0\., 0\., .{50,80}…\)$", message)


def test_the_goal_function_is_held_to_a_boolean() -> None:
    def ends(goal: Callable[..., Any]) -> str:
        env = LabelingWrapper(Rover(), labels=label_of, propositions=PROPOSITIONS, goal=goal)
        return str(told_by(lambda: drive(env)))

    last = " (observation: array([6., 0.], dtype=float32))"
    beginning = "Rover, step 6 of episode 1: the goal function "
    assert ends(lambda *_: None) == f"{beginning}returned None, which is neither True nor False{last}"
    assert ends(lambda *_: 1 / 0) == f"{beginning}failed with ZeroDivisionError: division by zero{last}"


@pytest.mark.parametrize(
    ("propositions", "message"),
    [
        ("left", "propositions is the text 'left': give a list, such as ['left']"),
        (["left", 1], "propositions are strings, but 1 is of type int"),
        (["left", "right", "left"], "the proposition 'left' is there twice"),
    ],
)
def test_propositions_are_a_list_of_strings(propositions: Any, message: str) -> None:
    error = told_by(lambda: LabelingWrapper(Rover(), labels=label_of, propositions=propositions))
    assert str(error) == message
