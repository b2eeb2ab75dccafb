"""Labelled Gymnasium environments by name, and random episodes in them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module

import gymnasium

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.envs.gymnasium.checks.single import checked
from rewardmachines.envs.gymnasium.labeling import AnyEnv
from rewardmachines.envs.registry import domains


def make_labelled(name: str) -> AnyEnv:
    """Makes an environment whose states are labelled.

    Args:
        name: A Gymnasium id, or MODULE:FUNCTION for a function without arguments that makes the environment. Modules in
            the working directory are found.

    Raises:
        RewardMachineError: There is no such environment, or it is not labelled.
    """
    module, colon, function = name.partition(":")
    env = _from_function(module, function) if colon and "/" not in name else _from_id(name)
    if not env.has_wrapper_attr("propositions"):
        raise RewardMachineError(
            f"{name} is not labelled: wrap it in LabelingWrapper(env, labels=..., propositions=[...]) in a function of "
            "yours, and give MODULE:FUNCTION"
        )
    return env


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


def _from_id(identifier: str) -> AnyEnv:
    if identifier.startswith("rewardmachines/") and identifier not in gymnasium.registry:
        domains()  # a domain of another package has no ids before it is loaded
    try:
        return gymnasium.make(identifier)
    except (gymnasium.error.Error, ImportError, TypeError, ValueError) as problem:
        raise RewardMachineError(f"{identifier}: {problem}") from None


def _from_function(module: str, function: str) -> AnyEnv:
    if not all(part.isidentifier() for part in (*module.split("."), function)):
        raise RewardMachineError(f"{module}:{function}: write MODULE:FUNCTION, such as mine:make for make() of mine.py")
    sys.path.insert(0, "")
    try:
        env = getattr(import_module(module), function)()
    except (ImportError, AttributeError) as problem:
        raise RewardMachineError(f"{module}:{function} cannot be imported: {problem}") from None
    finally:
        sys.path.remove("")
    if not isinstance(env, gymnasium.Env):
        raise RewardMachineError(f"{module}:{function}() gave {type(env).__name__}, not a Gymnasium environment")
    return env
