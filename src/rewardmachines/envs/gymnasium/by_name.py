"""Labelled Gymnasium environments by name, and random episodes in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import gymnasium

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.envs.gymnasium.checks.single import checked
from rewardmachines.envs.gymnasium.labeling import AnyEnv
from rewardmachines.envs.registry import domains


def make_by_id(identifier: str) -> AnyEnv:
    """Makes an environment by its Gymnasium id.

    Raises:
        RewardMachineError: There is no such environment.
    """
    if identifier.startswith("rewardmachines/") and identifier not in gymnasium.registry:
        domains()  # a domain of another package has no ids before it is loaded
    try:
        return gymnasium.make(identifier)
    except (gymnasium.error.Error, ImportError, TypeError, ValueError) as problem:
        raise RewardMachineError(f"{identifier}: {problem}") from None


def check_labelled(env: AnyEnv, name: str) -> None:
    """Checks that the states of an environment are labelled.

    Args:
        env: The environment.
        name: What it is called, for the error.

    Raises:
        RewardMachineError: They are not.
    """
    if not env.has_wrapper_attr("propositions"):
        raise RewardMachineError(
            f"{name} is not labelled: wrap it in LabelingWrapper(env, labels=..., propositions=[...]) in a function of "
            "yours, and give MODULE:FUNCTION"
        )


def random_episodes(env: AnyEnv, seeds: Iterable[int], max_steps: int) -> Iterator[list[Label]]:
    """The labels of episodes in which actions are drawn from the action space.

    Args:
        env: A labelled environment.
        seeds: A seed for each episode.
        max_steps: Where to cut off an episode that does not end.

    Raises:
        EnvironmentFault: The environment or its labels are not what they must be.
    """
    safe = checked(env, env.get_wrapper_attr("propositions"))
    for seed in seeds:
        _, info = safe.reset(seed=seed)
        labels: list[Label] = [info["label"]]
        is_over = False
        while not is_over and len(labels) <= max_steps:
            *_, terminated, truncated, info = safe.step(env.action_space.sample())
            labels.append(info["label"])
            is_over = terminated or truncated
        yield labels
