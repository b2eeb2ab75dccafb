"""The specification of a run that trains policies in Gymnasium environments: all of it that a file can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardmachines.agents.algorithms import check_config, config_type
from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.gymnasium.environments import EPISODES, check_longest
from rewardmachines.agents.gymnasium.senses_record import SensesRecord
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import TRAIN_GYMNASIUM, difference, load_settings, save_settings
from rewardmachines.runs.named_function import named_function
from rewardmachines.runs.seeds import check_seed


@dataclass(frozen=True)
class TrainGymnasiumSpec:
    """What is trained. A policy acts by it without the environment; to go on with the run, that is needed, too."""

    task: str
    """The name of the task."""
    env: str | None
    """The name of the function that makes the environment, `module:function`, if it can be found by one."""
    senses: SensesRecord
    labels: tuple[tuple[str, ...], ...] | None
    """The labels that can be seen; None for all combinations of propositions."""
    algorithm: Algorithm
    config: AgentConfig
    """The settings of the algorithm."""
    seed: int = 0
    instances: int | None = None
    """The number of fixed beginnings: instance i is what `reset(seed=i)` leads to. None for any beginning."""
    max_steps: int = 1000
    """The number of steps after which an episode is cut off."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_config(self.algorithm, self.config)
        if self.instances is not None and self.instances < 1:
            raise RewardMachineError(f"at least one instance, not {self.instances}; or None, for any beginning")
        check_longest(self.max_steps)

    @staticmethod
    def field_types(plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The types of fields that depend on other fields: the class of the settings depends on the algorithm."""
        known = next((algorithm for algorithm in Algorithm if algorithm.value == plain["algorithm"]), None)
        return {} if known is None else {"config": config_type(known)}

    @property
    def seeds(self) -> range:
        """The only seed, as a range: rows of a run have one of its seeds."""
        return range(self.seed, self.seed + 1)

    @property
    def greedy_episodes(self) -> int:
        """The number of greedy episodes of an evaluation: one in each instance, or several."""
        return self.instances or EPISODES

    def make_env(self, where: str) -> Callable[[], Any]:
        """The function that makes the environment, for which the module that is named is imported.

        Args:
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: The function has no name, or cannot be found by it.
        """
        if self.env is None:
            raise RewardMachineError(
                f"{where}: the environment was given as an object that cannot be found again by a name "
                "(module:function): from Python, give it again, or act with rm.load_policy"
            )
        return named_function(self.env, f"the environment of '{self.task}'")


@dataclass(frozen=True)
class TrainGymnasiumOrder:
    """The order to train: a specification, and when the run ends."""

    spec: TrainGymnasiumSpec
    budget: Budget
    """The limits of the run."""
    stop_at: float | None
    """The mean return in three consecutive evaluations with which the run ends early; 0 or None for never."""

    def __post_init__(self) -> None:
        if self.stop_at is not None and not 0 <= self.stop_at <= 1:
            raise RewardMachineError(f"a return that is good enough lies between 0 and 1, not {self.stop_at:g}")
        if not self.budget.is_limited and not self.stop_at:
            raise RewardMachineError(
                "it would never end: say how many steps, episodes or seconds it may take, or what to stop at"
            )


def check_same(asked: TrainGymnasiumSpec, begun: TrainGymnasiumSpec, where: str) -> None:
    """Checks that a run is resumed with what it was begun with. An environment without a name may be given again.

    Raises:
        RewardMachineError: Something else is asked for.
    """
    if asked.env is None or begun.env is None:
        asked, begun = replace(asked, env=None), replace(begun, env=None)
    asked, begun = (replace(spec, senses=spec.senses.without_names) for spec in (asked, begun))
    if differs := difference(asked, begun):
        raise RewardMachineError(f"{where}: the run was begun with other settings: {differs}")


def save_order(order: TrainGymnasiumOrder, path: Path) -> None:
    """Writes the settings of a run to `config.json`."""
    save_settings(path, TRAIN_GYMNASIUM, order)


def load_order(path: Path) -> TrainGymnasiumOrder:
    """Reads the settings of a run."""
    order: TrainGymnasiumOrder = load_settings(path, TRAIN_GYMNASIUM, TrainGymnasiumOrder, {})
    return order
