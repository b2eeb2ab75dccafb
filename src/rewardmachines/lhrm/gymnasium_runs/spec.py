"""The specification of a run of LHRM on Gymnasium environments: all of it that can be written to a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rewardmachines.agents.gymnasium.senses_record import SensesRecord
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.ending import check_ending
from rewardmachines.lhrm.learner_registry import EXACT
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask
from rewardmachines.lhrm.worlds.gymnasium.worlds import GymnasiumWorlds
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import LEARN_GYMNASIUM, difference, load_settings, save_settings
from rewardmachines.runs.named_function import name_of, named_function
from rewardmachines.runs.seeds import check_seed


@dataclass(frozen=True)
class GymTaskRecord:
    """A `GymTask` with its environment by name."""

    name: str
    level: int
    instances: int | None
    env: str | None
    """The name of the function that makes the environment, `module:function`, if it can be found by one."""


@dataclass(frozen=True)
class GymnasiumSpec:
    """What is learned. A policy acts by it without the environments; to go on with the run, they are needed, too."""

    tasks: tuple[GymTaskRecord, ...]
    """The tasks, lowest level first: the order in which rows list them."""
    senses: SensesRecord
    config: LhrmConfig
    """The settings of LHRM."""
    seed: int = 0
    max_steps: int = 1000
    """The number of steps after which an episode is cut off."""
    learner: str = EXACT
    """The name of the learner of machines."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not self.tasks:
            raise RewardMachineError("there is no task to learn")

    @property
    def instances(self) -> int:
        """How many returns each task has in a row: one for each instance."""
        return max(task.instances or 1 for task in self.tasks)

    def gym_tasks(self, where: str) -> list[GymTask]:
        """The tasks with their environments, for which the modules that are named are imported.

        Args:
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: An environment has no name, or cannot be found by it.
        """
        for task in self.tasks:
            if task.env is None:
                raise RewardMachineError(
                    f"{where}: the environment of '{task.name}' was given as an object that cannot be found again by "
                    "a name (module:function): from Python, resume with tasks=..., or act with rm.load_policy"
                )
        named = [(task, task.env) for task in self.tasks if task.env is not None]
        made = [named_function(env, f"the environment of '{task.name}'") for task, env in named]
        return [GymTask(task.name, task.level, made[i], task.instances) for i, (task, _) in enumerate(named)]


@dataclass(frozen=True)
class GymnasiumOrder:
    """The order to learn: a specification, and when the run ends."""

    spec: GymnasiumSpec
    budget: Budget
    """The limits of the run."""
    stop_at: float
    """The mean return in three consecutive evaluations that is good enough for every task; 0 for never."""

    def __post_init__(self) -> None:
        check_ending(self.budget, self.stop_at)


def spec_of(worlds: GymnasiumWorlds, config: LhrmConfig, learner: str) -> GymnasiumSpec:
    """The specification of a run in worlds that were made for it."""
    return GymnasiumSpec(
        tasks=tuple(GymTaskRecord(t.name, t.level, t.instances, name_of(t.make_env)) for t in worlds.gym_tasks),
        senses=SensesRecord.of(worlds.senses),
        config=config,
        seed=worlds.seed,
        max_steps=worlds.max_steps,
        learner=learner,
    )


def check_same(asked: GymnasiumSpec, begun: GymnasiumSpec, where: str) -> None:
    """Checks that a run is resumed with what it was begun with. Environments without names may be given again.

    Raises:
        RewardMachineError: Something else is asked for.
    """
    nameless = {task.name for spec in (asked, begun) for task in spec.tasks if task.env is None}
    if differs := difference(_without_names(asked, nameless), _without_names(begun, nameless)):
        raise RewardMachineError(f"{where}: the run was begun with other settings: {differs}")


def _without_names(spec: GymnasiumSpec, nameless: set[str]) -> GymnasiumSpec:
    tasks = tuple(replace(task, env=None) if task.name in nameless else task for task in spec.tasks)
    return replace(spec, tasks=tasks, senses=spec.senses.without_names)


def save_order(order: GymnasiumOrder, path: Path) -> None:
    """Writes the settings of a run to `config.json`."""
    save_settings(path, LEARN_GYMNASIUM, order)


def load_order(path: Path) -> GymnasiumOrder:
    """Reads the settings of a run."""
    order: GymnasiumOrder = load_settings(path, LEARN_GYMNASIUM, GymnasiumOrder, {})
    return order
