"""What the environments of tasks must have in common, and how their observations and labels are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from gymnasium import spaces

from rewardmachines.agents.gymnasium.observations import Encode, Reading, reading_of
from rewardmachines.agents.gymnasium.policy import AnyEnv
from rewardmachines.agents.gymnasium.vector_env import LabelCodes, discrete_actions, episode_limit
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.gymnasium.checks.single import CheckedEnv
from rewardmachines.lowered import LabelBits

WRAP_IT: Final = "wrap it: LabelingWrapper(env, labels=..., propositions=[...], goal=...)"


class MadeTask(Protocol):
    """A task whose environment a function makes."""

    @property
    def name(self) -> str:
        """The name of the task."""

    @property
    def make_env(self) -> Callable[[], AnyEnv]:
        """Makes an environment with labels."""

    @property
    def instances(self) -> int | None:
        """How many fixed beginnings there are: instance i is what `reset(seed=i)` leads to. None for any beginning."""


@dataclass(frozen=True)
class Senses:
    """What the environments of all tasks have in common, and how observations and labels are read."""

    actions: spaces.Discrete
    propositions: tuple[str, ...]
    reading: Reading
    codes: LabelCodes
    limit: int | None = None
    """The number of steps after which the environments cut episodes off: the most of them, if they say so."""


def senses_of(tasks: Sequence[MadeTask], checked: Sequence[CheckedEnv], encode: Encode | None) -> Senses:
    """Compares an environment of each task with that of the first, which is reset to see what it shows.

    Args:
        tasks: The tasks.
        checked: An environment of each of them.
        encode: Makes an array of an observation that is none; or `"channels-first"`, for pictures.

    Raises:
        RewardMachineError: An environment is not labelled, differs from the first, or cannot be acted in.
    """
    envs = [one.env for one in checked]
    for task, env in zip(tasks, envs, strict=True):
        _check_labelled(task.name, env)
        _check_same(tasks[0].name, envs[0], task.name, env)
    first, propositions = envs[0], tuple(envs[0].get_wrapper_attr("propositions"))
    reading = reading_of(first.observation_space, encode, checked[0].reset(seed=0)[0])
    limits = [limit for limit in map(episode_limit, envs) if limit is not None]
    return Senses(
        discrete_actions(first.action_space),
        propositions,
        reading,
        LabelCodes(LabelBits(propositions)),
        max(limits, default=None),
    )


def _check_labelled(name: str, env: AnyEnv) -> None:
    if not env.has_wrapper_attr("propositions"):
        raise RewardMachineError(f"the environment of '{name}' is not labelled: {WRAP_IT}")


def _check_same(one: str, first: AnyEnv, other: str, env: AnyEnv) -> None:
    """Checks that two environments show and accept the same, because tasks share policies."""
    for what, mine, others in (
        ("observations", first.observation_space, env.observation_space),
        ("actions", first.action_space, env.action_space),
        ("propositions", *(tuple(e.get_wrapper_attr("propositions")) for e in (first, env))),
    ):
        if mine != others:
            raise RewardMachineError(
                f"all tasks must have the same {what}: those of '{one}' are {mine}, those of '{other}' {others}"
            )
