"""What is to be trained, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.algorithms import check_config, config_type
from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.crm.config import earlier_crm_settings
from rewardmachines.agents.presets import Preset, preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import BASE_SEED, INSTANCES, Scenario, scenario_of
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import TRAIN, Content, load_settings, save_settings
from rewardmachines.runs.seeds import check_seed


@dataclass(frozen=True)
class TrainSpec:
    """What is trained, completely: equal specs give equal metrics."""

    domain: str
    setting: str
    task: str
    algorithm: Algorithm
    config: AgentConfig
    seed: int = 0
    seeds: int = 1
    """How many agents are trained side by side, with consecutive seeds."""
    instances: int = INSTANCES
    instance_seed: int = BASE_SEED
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise RewardMachineError(f"at least one seed is needed, not {self.seeds}")
        check_config(self.algorithm, self.config)

    @staticmethod
    def field_types(plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The class of the settings depends on the algorithm."""
        known = next((algorithm for algorithm in Algorithm if algorithm.value == plain["algorithm"]), None)
        return {} if known is None else {"config": config_type(known)}

    def scenario(self) -> Scenario:
        """Where agents are trained."""
        return scenario_of(self, self.config.observation)


@dataclass(frozen=True)
class TrainOrder:
    """What was asked for: what is trained, and when it ends."""

    spec: TrainSpec
    budget: Budget
    """How long each seed is trained."""
    stop_at: float | None = None
    """The mean return, over three evaluations in a row, with which it ends early; 0 or None for never."""

    def __post_init__(self) -> None:
        check_seed(self.spec.seed, self.spec.seeds)
        if not self.budget.is_limited:
            raise RewardMachineError("say for how long to train: a number of steps, of episodes or of seconds")


def standard_spec(
    domain_name: str,
    setting: str,
    task: str,
    algorithm: Algorithm | str = Algorithm.HRL,
    *,
    settings: Preset | str = Preset.FAST,
    **changes: Any,
) -> TrainSpec:
    """A task with the settings of a preset; `changes` are other fields of the spec, such as `seeds=5`.

    >>> standard_spec("craftworld", "op", "cake", seeds=5).config.environments
    16
    """
    known = domain(domain_name)
    setting, algorithm = known.setting_name(setting), Algorithm(algorithm)
    config = preset(settings, known.name, setting, algorithm)
    return replace(TrainSpec(known.name, setting, task, algorithm, config), **changes)


def save_order(order: TrainOrder, path: Path) -> None:
    """Writes what was asked for."""
    save_settings(path, TRAIN, order)


def load_order(path: Path) -> TrainOrder:
    """Reads what was asked for, by this version or an earlier one."""
    order: TrainOrder = load_settings(path, TRAIN, TrainOrder, {1: _from_format_1})
    return order


def _from_format_1(content: Content) -> Content:
    """Versions of format 1 had fewer settings, and one record of settings for all algorithms."""
    spec = content["spec"]
    config = {"counts_experiences": False, **spec["config"]}
    is_crm = spec["algorithm"] == Algorithm.CRM.value
    config = {**EARLIER, **earlier_crm_settings(config)} if is_crm else earlier_agent_settings(config)
    budget = {"steps": content["steps"], "episodes": content.get("episodes"), "seconds": None}
    return {"spec": {**spec, "config": config}, "budget": budget, "stop_at": content["stop_at"]}


EARLIER: Final[Content] = {"evaluate_steps": None, "evaluate_episodes": None}
"""Settings that some versions of format 1 did not have: episodes were as long as any, and evaluated by chunks."""


def earlier_agent_settings(config: Content) -> Content:
    """Settings of a hierarchical agent as they are today, of those in format 1, where they were those of CRM, too."""
    return {**EARLIER, **{name: value for name, value in config.items() if name != "counts_experiences"}}
