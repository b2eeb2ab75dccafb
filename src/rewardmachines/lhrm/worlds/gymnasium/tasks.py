"""Tasks in Gymnasium environments, whose hierarchies are to be learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rewardmachines.agents.gymnasium.policy import AnyEnv
from rewardmachines.core.errors import RewardMachineError


@dataclass(frozen=True)
class GymTask:
    """A task, given by an environment whose episodes end at a goal, at dead ends or when time is up, and say which.

    The hierarchy of the task is what is to be learned, so none is given.
    """

    name: str
    level: int
    """The level, from 1. Machines call those of lower levels, and a level begins when those below it are mastered."""
    make_env: Callable[[], AnyEnv]
    """Makes an environment that is wrapped in `LabelingWrapper`."""
    instances: int | None = None
    """How many fixed beginnings there are: instance i is what `reset(seed=i)` leads to. If not given, every episode
    begins as the environment draws it, and the mean return over several episodes counts."""

    def __post_init__(self) -> None:
        if self.level < 1:
            raise RewardMachineError(f"'{self.name}': levels count from 1, not {self.level}")
        if self.instances is not None and self.instances < 1:
            raise RewardMachineError(f"'{self.name}': at least one instance, not {self.instances}; or None, for any")


def check_names(tasks: Sequence[GymTask]) -> None:
    """Checks that there are tasks, each with a name of its own.

    Raises:
        RewardMachineError: There is no task, or two have the same name.
    """
    if not tasks:
        raise RewardMachineError("there is no task to learn")
    names = [task.name for task in tasks]
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise RewardMachineError(f"two tasks are called '{twice[0]}'")
