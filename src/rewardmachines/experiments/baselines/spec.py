"""The specification of a run of a baseline, and the order to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import PUBLISHED
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import BASE_SEED, INSTANCES, Scenario, scenario_of
from rewardmachines.experiments.baselines.methods import METHODS, method_named
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import load_settings, save_settings
from rewardmachines.runs.seeds import check_seed

FLAT: Final = "flat"
"""The name in `config.json` by which runs of baselines are recognized."""
EPISODES: Final = 150_000
"""The number of episodes of a published run."""
LEARNER_SECONDS: Final = 7200.0
"""The seconds that the searches of a published run could take."""


@dataclass(frozen=True)
class BaselineSpec:
    """The complete specification of what is learned: equal specs give equal metrics."""

    method: str
    """The name of the method."""
    domain: str
    """The name of the domain."""
    setting: str
    """The name of its setting."""
    task: str
    """The name of the task."""
    seed: int = 0
    """The seed of the random actions, and of the random choices of the method."""
    instances: int = INSTANCES
    """The number of instances of the domain, which episodes visit one after the other."""
    instance_seed: int = BASE_SEED
    """The seed of the first instance; the others have the seeds that follow."""
    max_steps: int = MAX_STEPS
    """The number of steps after which an episode is cut off."""
    config: Any = None
    """The settings of the method; None for the published ones, which then replace it."""

    def __post_init__(self) -> None:
        known, method = domain(self.domain), method_named(self.method)
        object.__setattr__(self, "domain", known.name)
        object.__setattr__(self, "setting", known.setting_name(self.setting))
        object.__setattr__(self, "task", known.task_name(self.task))
        if self.config is None:
            object.__setattr__(self, "config", method.config())
        if type(self.config) is not method.config:
            raise RewardMachineError(f"'{self.method}' needs settings of the class {method.config.__name__}")

    @staticmethod
    def field_types(plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The types of fields that depend on other fields: the class of the settings depends on the method."""
        known = METHODS.get(plain["method"]) if isinstance(plain["method"], str) else None
        return {"config": dict if known is None else known.config}  # an unknown method is reported by its name

    def scenario(self) -> Scenario:
        """The domain in its setting, with its instances. Observations are of no use here: actions are random."""
        return scenario_of(self, PUBLISHED)


@dataclass(frozen=True)
class BaselineOrder:
    """The order to run a baseline: a specification, and when the run ends."""

    spec: BaselineSpec
    budget: Budget = field(default_factory=lambda: Budget(episodes=EPISODES))
    """The limits of steps, episodes and time of the run."""
    learner_seconds: float = LEARNER_SECONDS
    """The seconds that searches may take. If it is reached, the run ends as interrupted."""

    def __post_init__(self) -> None:
        check_seed(self.spec.seed)
        if not self.learner_seconds > 0:
            raise RewardMachineError(f"more than {self.learner_seconds:g} seconds are needed to learn")


def save_order(order: BaselineOrder, path: Path) -> None:
    """Writes the settings of a run to `config.json`."""
    save_settings(path, FLAT, order)


def load_order(path: Path) -> BaselineOrder:
    """Reads the settings of a run."""
    # There are no runs of this command in formats 1 and 2.
    order: BaselineOrder = load_settings(path, FLAT, BaselineOrder, {})
    return order
