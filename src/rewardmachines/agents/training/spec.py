"""The specification of a training run, and the order to train it for some time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.algorithms import check_config, config_type
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.crm.config import earlier_crm_settings
from rewardmachines.agents.hierarchical_dqn.config import earlier_hierarchical_settings
from rewardmachines.agents.presets import Preset, preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import BASE_SEED, INSTANCES, Scenario, fresh_fields, instance_seed_of, scenario_of
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import TRAIN, Content, load_settings, save_settings
from rewardmachines.runs.records import added
from rewardmachines.runs.seeds import check_seed


@dataclass(frozen=True)
class TrainSpec:
    """The complete specification of what is trained: equal specs give equal metrics."""

    domain: str
    """The name of the domain."""
    setting: str
    """The name of its setting."""
    task: str
    """The name of the task."""
    algorithm: Algorithm
    config: AgentConfig
    """The settings of the algorithm."""
    seed: int = 0
    """The first seed."""
    seeds: int = 1
    """The number of agents that are trained side by side, with consecutive seeds."""
    instances: int = INSTANCES
    """The number of instances of the domain."""
    instance_seed: int = BASE_SEED
    """The seed of the first instance; the others have the seeds that follow."""
    max_steps: int = MAX_STEPS
    """The number of steps after which an episode is cut off."""
    own_instances: bool = False
    """Whether each seed has instances of its own: seed r those of run number r (`instance_seed_of`), as in the paper.
    Otherwise all seeds have the same instances."""
    fresh: int = added(0)
    """How many further instances are drawn, with the seed of the first, to be trained on. Those above are only
    evaluated then. With 0, those above are trained on, as in the paper."""
    bank: str | None = added(None)
    """The digest of the bank of skills that agents begin with, if there is one."""
    trains_bank: bool = added(False)
    """Whether the policies of the bank are trained further. Otherwise they stay as they are."""

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise RewardMachineError(f"at least one seed is needed, not {self.seeds}")
        if self.own_instances and self.fresh:
            raise RewardMachineError("fresh instances are everybody's: leave out instances of their own")
        if self.own_instances and self.instance_seed != BASE_SEED:
            raise RewardMachineError("seeds with instances of their own have no common seed of instances: leave it out")
        if self.trains_bank and self.bank is None:
            raise RewardMachineError("there is no bank of skills to be trained further")
        check_config(self.algorithm, self.config)

    @staticmethod
    def field_types(plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The types of fields that depend on other fields: the class of the settings depends on the algorithm."""
        known = next((algorithm for algorithm in Algorithm if algorithm.value == plain["algorithm"]), None)
        return {} if known is None else {"config": config_type(known)}

    @property
    def seed_range(self) -> range:
        """The seeds of its agents."""
        return range(self.seed, self.seed + self.seeds)

    def of_seed(self, seed: int) -> TrainSpec:
        """The specification of one of its agents alone, with the instances of that agent."""
        instances = instance_seed_of(seed) if self.own_instances else self.instance_seed
        return replace(self, seed=seed, seeds=1, instance_seed=instances, own_instances=False)

    def elsewhere(self, instances: int | None = None, instance_seed: int | None = None) -> TrainSpec:
        """The specification with other instances to be evaluated in, and none to be trained on."""
        own = self.own_instances and instances is None and instance_seed is None
        instances = self.instances if instances is None else instances
        instance_seed = self.instance_seed if instance_seed is None else instance_seed
        return replace(self, instances=instances, instance_seed=instance_seed, own_instances=own, fresh=0)

    def scenario(self) -> Scenario:
        """The domain in its setting, with the instances in which the agent of the first seed is trained."""
        return scenario_of(self.of_seed(self.seed), self.config.observation, fresh=self.fresh)


@dataclass(frozen=True)
class TrainOrder:
    """The order to train: a specification, and when the run ends."""

    spec: TrainSpec
    budget: Budget
    """The limits of each seed, and of the time of the run."""
    stop_at: float | None = None
    """The mean return in three consecutive evaluations with which the run ends early; 0 or None for never."""

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
    fresh: bool = False,
    bank: Bank | None = None,
    **changes: Any,
) -> TrainSpec:
    """The specification of a task with the settings of a preset.

    Args:
        domain_name: The name of the domain, in any case.
        setting: The name of its setting, in any case.
        task: The name of the task.
        algorithm: The algorithm, or its name.
        settings: The preset, or its name.
        fresh: Whether the agent is trained in fresh instances, and others are held out to evaluate it.
        bank: The bank of skills that the agent begins with, which says what its networks look like. The task may then
            be an expression over propositions and machines of the bank.
        changes: Other fields of the specification, such as `seeds=5`.

    >>> standard_spec("craftworld", "op", "cake", seeds=5).config.environments
    16
    """
    known = domain(domain_name)
    setting, algorithm = known.setting_name(setting), Algorithm(algorithm)
    config = preset(settings, known.name, setting, algorithm, fresh=fresh)
    if fresh:
        changes = fresh_fields(known, setting) | changes
    if bank is not None:  # greedy episodes of a new task may be longer than those that the preset knows
        config = replace(bank.fitted(config), evaluate_steps=None)
        changes = {"bank": bank.digest, **changes}
    return replace(TrainSpec(known.name, setting, task, algorithm, config), **changes)


def save_order(order: TrainOrder, path: Path) -> None:
    """Writes the settings of a run to `config.json`."""
    save_settings(path, TRAIN, order)


def load_order(path: Path) -> TrainOrder:
    """Reads the settings of a run of this version or an earlier one."""
    order: TrainOrder = load_settings(path, TRAIN, TrainOrder, {1: _from_format_1, 2: _from_format_2})
    return order


def _from_format_1(content: Content) -> Content:
    """Rewrites settings of format 1, which had fewer settings, and one record of settings for all algorithms."""
    spec = content["spec"]
    config = {"counts_experiences": False, **spec["config"]}
    is_crm = spec["algorithm"] == Algorithm.CRM.value
    config = {**EARLIER, **earlier_crm_settings(config)} if is_crm else earlier_agent_settings(config)
    budget = {"steps": content["steps"], "episodes": content.get("episodes"), "seconds": None}
    return {"spec": {**spec, "config": config}, "budget": budget, "stop_at": content["stop_at"]}


def _from_format_2(content: Content) -> Content:
    """Rewrites settings of format 2, in which all seeds had the same instances."""
    return {**content, "spec": {**content["spec"], "own_instances": False}}


EARLIER: Final[Content] = {"evaluate_steps": None, "evaluate_episodes": None}
"""Settings that some versions of format 1 did not have: greedy episodes had no limit of their own, and evaluations came
after a number of chunks."""


def earlier_agent_settings(config: Content) -> Content:
    """Rewrites settings of a hierarchical agent of format 1, in which they included a setting of CRM."""
    return {**EARLIER, **earlier_hierarchical_settings(config)}
