"""Environments and labels that break the rules, where agents are trained on vectors of them, evaluated, and act."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import rewardmachines as rm
from envs.broken_rules import AT_2, LABELS_ALLOWED, LABELS_REFUSED, STEPS_REFUSED, at_2, failing, told_by
from envs.rover import PROPOSITIONS, Rover, label_of, labelled, seen
from rewardmachines.agents.gymnasium.observations import ObservationError
from rewardmachines.agents.gymnasium.settings import GYMNASIUM
from rewardmachines.agents.gymnasium.train import train_gymnasium, vectorize
from rewardmachines.agents.gymnasium.trained import Trained
from rewardmachines.agents.gymnasium.training import begin_training
from rewardmachines.envs import HierarchyWrapper
from rewardmachines.envs.gymnasium.checks.vector import CheckedVectorEnv

TASK = rm.compile_task("left ; right")
STEP = "Rover, step 2 of episode 1: "
SECOND = "SyncVectorEnv, environment 1 of 2, step 2: "
QUIET = replace(GYMNASIUM, replay_start=8_000, replay_size=8_000)
"""Never learns, so that there is less to compile."""


def pair(**broken: Any) -> SyncVectorEnv:
    """Two environments that label themselves, of which the second breaks a rule."""
    own = {"label": label_of, **broken}
    return SyncVectorEnv([lambda: Rover(label=label_of), lambda: Rover(**own)], autoreset_mode=AutoresetMode.SAME_STEP)


def drive(envs: Any, steps: int = 3) -> list[Any]:
    """The labels of a vector environment's steps, as training reads them."""
    checked, known = CheckedVectorEnv(envs), frozenset(PROPOSITIONS)
    observations, info = checked.reset(seed=0)
    labels = [checked.labels(info, observations, known)]
    for _ in range(steps):
        observations, _, terminated, _, info = checked.step(np.zeros(2, int))
        labels.append(checked.labels(info, observations, known))
        for i in np.flatnonzero(terminated).tolist():
            checked.final(i, info, known)
    return labels


def train(make: Callable[[], Any], **options: Any) -> Trained:
    return train_gymnasium(vectorize(make, 2), TASK, config=QUIET, steps=20, **options)


# -- vectors


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"show": lambda _: seen(np.nan)}, f"{SECOND}a wrong observation: number 0 is nan, which is not finite (observation: array([nan, 0.], dtype=float32))"),  # noqa: E501
        ({"step": lambda o, r, *_: (o, np.nan, *_)}, f"{SECOND}the reward is nan, which is not finite{AT_2}"),
        ({"step": lambda o, r, *_: (o, None, *_)}, f"{SECOND}the reward is nan, which is not finite{AT_2}"),
        ({"step": lambda o, r, te, tr, i: (o, r, te, i)}, "SyncVectorEnv, step 2: step failed with ValueError: not enough values to unpack (expected 5, got 4); each environment must return (observation, reward, terminated, truncated, info)"),  # noqa: E501
        ({"step": lambda *_: None}, "SyncVectorEnv, step 2: step failed with TypeError: cannot unpack non-iterable NoneType object; each environment must return (observation, reward, terminated, truncated, info)"),  # noqa: E501
        ({"step": failing}, "SyncVectorEnv, step 2: step failed with RuntimeError: the motor is broken"),
        ({"reset": failing}, "SyncVectorEnv, reset: reset failed with RuntimeError: the motor is broken"),
        ({"reset": lambda o, i: o}, "SyncVectorEnv, reset: reset failed with"),
        ({"step": lambda *r: (*r[:4], {})}, f"{SECOND}info['label'] is None: return a set of propositions, set() where none is true{AT_2}"),  # noqa: E501
    ],
)  # fmt: skip
def test_the_environment_and_the_step_of_a_vector_are_named(broken: Any, message: str) -> None:
    assert str(told_by(lambda: drive(pair(**broken)))).startswith(message)


@pytest.mark.parametrize(("returned", "message"), LABELS_REFUSED)
def test_labels_in_vectors_are_held_to_the_same(returned: Any, message: str) -> None:
    """Gymnasium stores dicts and arrays in ways of its own, which are refused, too."""
    told = str(told_by(lambda: drive(pair(label=at_2(returned)))))
    expected = message.format(repr(returned)) if message.startswith("{}") else message
    if isinstance(returned, dict):
        assert told.startswith("SyncVectorEnv, step 2: ")
    else:
        assert told == f"{SECOND}info['label'] is {expected}{AT_2}"


@pytest.mark.parametrize("label", [{"left": True}, np.array([True, False])])
def test_dicts_and_arrays_of_all_environments_are_refused(label: Any) -> None:
    envs = SyncVectorEnv([lambda: Rover(label=lambda _: label)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    assert str(told_by(lambda: drive(envs))) == (
        f"SyncVectorEnv, reset: Gymnasium has made one {type(label).__name__} of all info['label']: let each "
        "environment put a frozenset of propositions there, as LabelingWrapper does"
    )


def test_the_last_moments_of_episodes_are_checked() -> None:
    def at_the_end(observation: Any) -> Any:
        return None if observation[0] == 6 else set()

    assert str(told_by(lambda: drive(pair(label=at_the_end), 6))) == (
        "SyncVectorEnv, environment 1 of 2, step 6: info['label'] is None: return a set of propositions, set() where "
        "none is true (observation: array([6., 0.], dtype=float32))"
    )
    assert len(drive(pair(), 6)) == 7


def test_errors_of_environments_in_other_processes_arrive_in_one_line() -> None:
    envs = AsyncVectorEnv(
        [lambda: labelled(Rover(), at_2("left"))] * 2, autoreset_mode=AutoresetMode.SAME_STEP, context="spawn"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # with which Gymnasium says that it shuts the process down
        told = str(told_by(lambda: drive(envs)))
    assert told == f"{STEP}the labelling function returned the text 'left': return a set, such as {{'left'}}{AT_2}"
    envs.close(terminate=True)


# -- training


@pytest.mark.parametrize(("step", "fault"), STEPS_REFUSED)
def test_training_ends_with_the_error_of_the_wrapper(step: Callable[..., Any], fault: str) -> None:
    envs = vectorize(lambda: HierarchyWrapper(labelled(Rover(step=step)), TASK), 2)
    training = begin_training(envs, TASK, QUIET)
    training.sensors.step(np.zeros(2, int))
    assert str(told_by(lambda: training.sensors.step(np.zeros(2, int)))) == STEP + fault


def test_a_run_does_not_train_on_what_is_not_finite() -> None:
    expected = f"{STEP}a wrong observation: number 0 is nan, which is not finite"
    make = lambda: HierarchyWrapper(labelled(Rover(show=lambda _: seen(np.nan))), TASK)  # noqa: E731
    assert str(told_by(lambda: train(make))).startswith(expected)


def test_a_task_that_is_done_at_reset_can_be_trained() -> None:
    done = rm.compile_task("left")
    envs = vectorize(lambda: HierarchyWrapper(labelled(Rover(), lambda _: {"left"}), done), 2)
    trained = train_gymnasium(envs, done, config=QUIET, steps=20)
    assert trained.episodes == 20
    assert trained.evaluate(HierarchyWrapper(labelled(Rover(), lambda _: {"left"}), done), 2) == 1.0


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["left", "right"], "one of `labels` is the text 'left': return a set, such as {'left'}"),
        ([{"left"}, {"rihgt"}], "one of `labels` is 'rihgt', which is not among the propositions (left, right); did you mean 'right'?"),  # noqa: E501
    ],
)  # fmt: skip
def test_the_labels_that_can_be_seen_are_checked(labels: Any, message: str) -> None:
    envs = vectorize(lambda: HierarchyWrapper(labelled(Rover()), TASK), 2)
    assert str(told_by(lambda: begin_training(envs, TASK, QUIET, labels=labels))) == message


def test_what_encode_raises_or_returns_is_named_with_the_observation() -> None:
    def encoding(encode: Callable[[Any], Any]) -> str:
        with pytest.raises(ObservationError) as caught:
            train(lambda: HierarchyWrapper(labelled(Rover()), TASK), encode=encode)
        return str(caught.value)

    first = "(observation: array([0., 0.], dtype=float32))"
    assert encoding(lambda _: 1 / 0) == f"encode failed with ZeroDivisionError: division by zero {first}"
    assert encoding(lambda o: o * np.nan) == f"encode returned numbers that are not finite {first}"
    assert encoding(lambda _: "far") == f"encode returned str, not an array of numbers {first}"


# -- evaluation and policies


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train(lambda: HierarchyWrapper(labelled(Rover()), TASK))


@pytest.mark.parametrize(("returned", "message"), LABELS_REFUSED)
def test_evaluation_holds_environments_to_the_same(trained: Trained, returned: Any, message: str) -> None:
    expected = message.format(repr(returned)) if message.startswith("{}") else message
    own = Rover(label=at_2(returned))
    assert str(told_by(lambda: trained.evaluate(own, 2))) == f"{STEP}info['label'] is {expected}{AT_2}"
    assert str(told_by(lambda: trained.policy.reset(returned))) == f"the label is {expected}"
    assert str(told_by(lambda: trained.policy.act(seen(0), returned))) == f"the label is {expected}"


@pytest.mark.parametrize(("step", "fault"), STEPS_REFUSED)
def test_evaluation_ends_with_one_error(trained: Trained, step: Callable[..., Any], fault: str) -> None:
    assert str(told_by(lambda: trained.evaluate(Rover(label=label_of, step=step), 2))) == STEP + fault


@pytest.mark.parametrize(("given", "label"), LABELS_ALLOWED)
def test_policies_take_all_kinds_of_labels(trained: Trained, given: Any, label: set[str]) -> None:
    codes = trained.setup.codes
    assert codes.one(given).tolist() == codes.one(label).tolist()


@pytest.mark.parametrize(
    ("observation", "fault"),
    [
        (seen(np.nan), "number 0 is nan, which is not finite (observation: array([nan, 0.], dtype=float32))"),
        (seen(0)[:1], "its shape is (1,), but that of the space is (2,) (observation: array([0.], dtype=float32))"),
        (None, "it is None, but the space has arrays of float32 (observation: None)"),
    ],
)
def test_policies_refuse_wrong_observations(trained: Trained, observation: Any, fault: str) -> None:
    policy = trained.fresh_policy()
    policy.reset(set())
    with pytest.raises(ObservationError) as caught:
        policy.act(observation, set())
    assert str(caught.value) == f"a wrong observation: {fault}"
