"""Environments and labels that break the rules, where agents are trained, evaluated, and act."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import rewardmachines as rm
from envs.broken_rules import AT_2, LABELS_ALLOWED, LABELS_REFUSED, STEPS_REFUSED, at_2, told_by
from envs.rover import Rover, label_of, labelled, seen
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import Verdict
from rewardmachines.envs import HierarchyWrapper
from rewardmachines.rollout.gym_driver import GymTask
from rewardmachines.rollout.interface import ObservationError
from rewardmachines.rollout.policy import Policy
from rewardmachines.rollout.vector_environments import VectorSuite
from rewardmachines.runs.run import Run, play
from rewardmachines.runs.verbs import train
from rollout.rooms import CONFIG

TASK = rm.compile_task("left ; right")
STEP = "Rover, step 2 of episode 1: "


def trained(folder: Path, make: Callable[[], Any], **options: Any) -> Run:
    found: Run = train(make, TASK, settings=CONFIG, steps=1, stop_at=0, folder=folder, **options)
    return found


@pytest.mark.parametrize(("step", "fault"), STEPS_REFUSED)
def test_steps_of_a_vector_environment_end_with_the_error_of_the_wrapper(step: Callable[..., Any], fault: str) -> None:
    def make() -> HierarchyWrapper:
        return HierarchyWrapper(labelled(Rover(step=step)), TASK)

    envs = SyncVectorEnv([make] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    suite = VectorSuite(envs, GymTask("drive", 1, make, hierarchy=TASK))
    actions = np.zeros(2, np.int32)
    with closing(envs):
        environments = suite.training_environments(CONFIG.__class__(environments=2))
        environments.begin(range(2), actions, actions)
        environments.step(range(2), actions)
        told = str(told_by(lambda: environments.step(range(2), actions)))
        assert told == "Rover, step 2 of episode 2: " + fault, "in the first episode, it was only looked at"


def test_a_run_does_not_train_on_what_is_not_finite(tmp_path: Path) -> None:
    make = lambda: labelled(Rover(show=lambda _: seen(np.nan)))  # noqa: E731
    told = str(told_by(lambda: trained(tmp_path / "run", make)))
    assert f"{STEP}a wrong observation: number 0 is nan, which is not finite" in told


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["left", "right"], "one of `labels` is the text 'left': return a set, such as {'left'}"),
        ([{"left"}, {"rihgt"}], "'rihgt', which is not among the propositions (left, right); did you mean 'right'?"),
    ],
)
def test_the_labels_that_can_be_seen_are_checked(labels: Any, message: str, tmp_path: Path) -> None:
    told = str(told_by(lambda: trained(tmp_path / "run", lambda: labelled(Rover()), labels=labels)))
    assert message in told


def test_what_encode_raises_or_returns_is_named_with_the_observation(tmp_path: Path) -> None:
    def encoding(encode: Callable[[Any], Any]) -> str:
        with pytest.raises(ObservationError) as caught:
            trained(tmp_path / "run", lambda: labelled(Rover()), encode=encode)
        return str(caught.value)

    first = "(observation: array([0., 0.], dtype=float32))"
    assert encoding(lambda _: 1 / 0) == f"encode failed with ZeroDivisionError: division by zero {first}"
    assert encoding(lambda o: o * np.nan) == f"encode returned numbers that are not finite {first}"
    assert encoding(lambda _: "far") == f"encode returned str, not an array of numbers {first}"
    assert not (tmp_path / "run").exists()


# -- policies


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has learned next to nothing."""
    return trained(tmp_path_factory.mktemp("runs") / "run", lambda: labelled(Rover())).policy()


@pytest.mark.parametrize(("returned", "message"), LABELS_REFUSED)
def test_policies_are_given_labels_that_keep_the_rules(policy: Policy, returned: Any, message: str) -> None:
    expected = message.format(repr(returned)) if message.startswith("{}") else message
    own = Rover(label=at_2(returned))
    assert str(told_by(lambda: play(own, policy))) == f"{STEP}info['label'] is {expected}{AT_2}"
    assert str(told_by(lambda: policy.reset(returned))) == f"the label is {expected}"
    policy.reset()
    assert str(told_by(lambda: policy.act(seen(0), returned))) == f"the label is {expected}"


@pytest.mark.parametrize(("step", "fault"), STEPS_REFUSED)
def test_an_episode_ends_with_one_error(policy: Policy, step: Callable[..., Any], fault: str) -> None:
    assert str(told_by(lambda: play(Rover(label=label_of, step=step), policy))) == STEP + fault


@pytest.mark.parametrize(("given", "label"), LABELS_ALLOWED)
def test_policies_take_all_kinds_of_labels(policy: Policy, given: Any, label: set[str]) -> None:
    policy.reset(given)
    state = policy.state
    policy.reset(label)
    assert policy.state == state


@pytest.mark.parametrize(
    ("observation", "fault"),
    [
        (seen(np.nan), "number 0 is nan, which is not finite (observation: array([nan, 0.], dtype=float32))"),
        (seen(0)[:1], "its shape is (1,), but that of the space is (2,) (observation: array([0.], dtype=float32))"),
        (None, "it is None, but the space has arrays of float32 (observation: None)"),
    ],
)
def test_policies_refuse_wrong_observations(policy: Policy, observation: Any, fault: str) -> None:
    policy.reset(set())
    with pytest.raises(ObservationError) as caught:
        policy.act(observation, set())
    assert str(caught.value) == f"a wrong observation: {fault}"


def test_a_policy_is_reset_before_it_acts_and_after_the_task_is_over(policy: Policy) -> None:
    policy.reset({"left"})
    policy.act(seen(0), {"left"})
    assert policy.verdict is Verdict.NEITHER
    with pytest.raises(RewardMachineError, match="the task is over: reset the policy"):
        policy.act(seen(3), {"right"})
    policy.reset()
    assert policy.act(seen(0), set()) in {0, 1}
