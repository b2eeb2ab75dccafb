"""Environments and labels that break the rules, where machines are learned in them: the task is named, too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from envs.broken_rules import (
    AT_2,
    LABELS_ALLOWED,
    LABELS_REFUSED,
    OBSERVATIONS_REFUSED,
    RESETS_REFUSED,
    STEPS_REFUSED,
    at_2,
    failing,
    one_line,
    told_by,
)
from envs.rover import PROPOSITIONS, Rover, label_of, labelled, seen
from rewardmachines.rollout.gym_driver import GymSuite, GymTask
from rewardmachines.runs.run import play
from rewardmachines.runs.verbs import learn

STEP = "task 'drive': Rover, step 2 of episode 1: "
NOWHERE = np.zeros(1, np.int32)


def drive(make: Callable[[], Any], **options: Any) -> list[Any]:
    """The labels of some steps in the environments of a task, stepped as LHRM does it."""
    suite = GymSuite([GymTask("drive", 1, make)], **options)
    with closing(suite._made_environments(1, 60, 0)) as environments:
        environments.begin([0], NOWHERE, NOWHERE)
        labels = []
        for _ in range(3):
            environments.step([0], NOWHERE)
            labels += environments.labels
        return labels


@pytest.mark.parametrize(("returned", "message"), LABELS_REFUSED)
def test_labels_are_held_to_the_rules(returned: Any, message: str) -> None:
    expected = message.format(repr(returned)) if message.startswith("{}") else message
    told = str(told_by(lambda: drive(lambda: labelled(Rover(), at_2(returned)))))
    assert told == f"{STEP}the labelling function returned {expected}{AT_2}"
    told = str(told_by(lambda: drive(lambda: Rover(label=at_2(returned)))))
    assert told == f"{STEP}info['label'] is {expected}{AT_2}"


@pytest.mark.parametrize(("returned", "label"), LABELS_ALLOWED)
def test_labels_mean_what_they_say(returned: Any, label: set[str]) -> None:
    for make in (lambda: labelled(Rover(), at_2(returned)), lambda: Rover(label=at_2(returned))):
        assert drive(make)[1] == label


@pytest.mark.parametrize(("step", "fault"), STEPS_REFUSED)
def test_steps_are_held_to_the_rules(step: Callable[..., Any], fault: str) -> None:
    for make in (lambda: labelled(Rover(step=step)), lambda: Rover(step=step, label=label_of)):
        error = told_by(lambda make=make: drive(make))  # type: ignore[misc]
        assert str(error) == STEP + fault
        assert isinstance(error.__cause__, RuntimeError) == (step is failing)


@pytest.mark.parametrize(("space", "observation", "fault"), OBSERVATIONS_REFUSED)
def test_observations_are_held_to_the_rules(space: Any, observation: Any, fault: str) -> None:
    def make() -> Any:
        return labelled(Rover(space=space, show=lambda _: observation), lambda _: set())

    told = str(told_by(lambda: drive(make, encode=lambda _: np.zeros(1))))
    assert told == f"{STEP}a wrong observation: {fault} (observation: {one_line(observation)})"


@pytest.mark.parametrize(("reset", "fault"), RESETS_REFUSED)
def test_resets_are_held_to_the_rules(reset: Callable[..., Any], fault: str) -> None:
    expected = f"task 'drive': Rover, reset of episode 1: {fault}"
    assert str(told_by(lambda: drive(lambda: labelled(Rover(reset=reset))))) == expected
    assert str(told_by(lambda: drive(lambda: Rover(reset=reset, label=label_of)))) == expected


def test_what_makes_no_environment_is_named() -> None:
    told = str(told_by(lambda: drive(lambda: None)))
    assert told == "task 'drive': None is no Gymnasium environment"


def test_learning_does_not_go_on_with_what_is_not_finite() -> None:
    told = str(told_by(lambda: learn({"drive": lambda: labelled(Rover(show=lambda _: seen(np.nan)))}, steps=100)))
    assert told.startswith(f"{STEP}a wrong observation: number 0 is nan, which is not finite")


def test_greedy_episodes_are_held_to_the_rules() -> None:
    policy: Any = SimpleNamespace(propositions=PROPOSITIONS, reset=lambda _: None, act=lambda *_: 0)
    told = str(told_by(lambda: play(Rover(label=at_2("left")), policy, seed=0, steps=9)))
    assert told == (
        "Rover, step 2 of episode 1: info['label'] is the text 'left': return a set, such as {'left'}" + AT_2
    )
    assert play(Rover(label=label_of), policy, seed=0, steps=9)[1] == 6
    assert play(Rover(label=label_of), policy, seed=0, steps=3)[1] == 3
