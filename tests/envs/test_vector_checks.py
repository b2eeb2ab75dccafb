"""Vector environments that break the rules: the environment and the step are named."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from envs.broken_rules import AT_2, LABELS_REFUSED, at_2, failing, told_by
from envs.rover import PROPOSITIONS, Rover, label_of, labelled, seen
from rewardmachines.envs.gymnasium.checked_envs import CheckedVectorEnv

SECOND = "SyncVectorEnv, environment 1 of 2, step 2: "


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
    fault = f"the labelling function returned the text 'left': return a set, such as {{'left'}}{AT_2}"
    assert told == f"Rover, step 2 of episode 1: {fault}"
    envs.close(terminate=True)
