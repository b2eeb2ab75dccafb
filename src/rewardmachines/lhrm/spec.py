"""The specification of a run of LHRM, and the order to learn it within limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.presets import Preset
from rewardmachines.agents.training.spec import earlier_agent_settings
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import BASE_SEED, INSTANCES, Scenario, fresh_fields, instance_seed_of, scenario_of
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.lhrm.ending import check_ending
from rewardmachines.lhrm.learner_registry import EXACT
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.lhrm.worlds.compiled import CompiledWorlds
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import LEARN, Content, load_settings, save_settings
from rewardmachines.runs.records import added
from rewardmachines.runs.seeds import check_seed


@dataclass(frozen=True)
class LearnSpec:
    """The complete specification of what is learned, from which a run follows on any computer."""

    domain: str
    """The name of the domain."""
    setting: str
    """The name of its setting."""
    tasks: tuple[str, ...]
    """The names of the tasks."""
    config: LhrmConfig
    """The settings of LHRM."""
    seed: int = 0
    instances: int = INSTANCES
    """The number of instances of the domain."""
    instance_seed: int = BASE_SEED
    """The seed of the first instance; the others have the seeds that follow."""
    max_steps: int = MAX_STEPS
    """The number of steps after which an episode is cut off."""
    learner: str = EXACT
    """The name of the learner of machines; see `rewardmachines.lhrm.learner_registry`."""
    fresh: int = added(0)
    """How many further instances are drawn, with the seed of the first, to be trained on. Those above are held out
    then: nobody is trained on them, and their mean return decides on levels and on the end. With 0, those above are
    trained on, as in the paper."""
    bank: str | None = added(None)
    """The digest of the bank of skills that the run begins with, if there is one."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not self.tasks:
            raise RewardMachineError("there is no task to learn")
        if twice := next((name for name in self.tasks if self.tasks.count(name) > 1), None):
            raise RewardMachineError(f"the task '{twice}' is there twice")

    def scenario(self) -> Scenario:
        """The domain in its setting, with its instances."""
        return scenario_of(self, self.config.agent.observation, fresh=self.fresh)

    def elsewhere(self, instances: int | None = None, instance_seed: int | None = None) -> LearnSpec:
        """The specification with other instances to be evaluated in, and none to be trained on."""
        instances = self.instances if instances is None else instances
        instance_seed = self.instance_seed if instance_seed is None else instance_seed
        return replace(self, instances=instances, instance_seed=instance_seed, fresh=0)

    def worlds(self) -> CompiledWorlds:
        """The tasks in the scenario; flat, if machines may not call each other."""
        return CompiledWorlds(self.scenario(), self.tasks, flat=self.config.callables is Callables.NONE)


@dataclass(frozen=True)
class LearnOrder:
    """The order to learn: a specification, and when the run ends. Without limits, it ends when all is learned."""

    spec: LearnSpec
    budget: Budget
    """The limits of the run."""
    stop_at: float
    """The mean return in three consecutive evaluations that is good enough for every task; 0 for never."""

    def __post_init__(self) -> None:
        check_ending(self.budget, self.stop_at)


def standard_learning(
    domain_name: str,
    setting: str,
    tasks: Sequence[str] | None = None,
    *,
    settings: Preset | str = Preset.FAST,
    fresh: bool = False,
    bank: Bank | None = None,
    **changes: Any,
) -> LearnSpec:
    """The specification of a run with the settings of a preset.

    Args:
        domain_name: The name of the domain, in any case.
        setting: The name of its setting, in any case.
        tasks: The names of the tasks; without any, all tasks of the domain that are not in the bank.
        settings: The preset, or its name.
        fresh: Whether policies are trained in fresh instances, and others are held out to evaluate them.
        bank: The bank of skills that the run begins with, which says what networks look like.
        changes: Other fields of the specification, such as `seed=5`.

    >>> standard_learning("craftworld", "op").config.first_goals
    25
    """
    known = domain(domain_name)
    setting = known.setting_name(setting)
    there = () if bank is None else bank.names
    names = tuple(map(known.task_name, [n for n in known.tasks if n not in there] if tasks is None else tasks))
    if fresh:
        changes = fresh_fields(known, setting) | changes
    config = lhrm_preset(settings, known.name, setting, fresh=fresh)
    if bank is not None:
        config, changes = replace(config, agent=bank.fitted(config.agent)), {"bank": bank.digest, **changes}
    return replace(LearnSpec(known.name, setting, names, config), **changes)


def good_return(spec: LearnSpec, settings: Preset | str = Preset.FAST) -> float:
    """The mean return with which a run ends, once every task has it, if nothing else is asked for.

    Args:
        spec: The specification of the run.
        settings: The preset of its settings. Runs as published go on to their last episode, whatever they return: 0.
    """
    if Preset(settings) is Preset.PAPER:
        return 0.0
    known = domain(spec.domain)
    return known.settings[spec.setting].fresh.solved_return if spec.fresh else known.solved_return


def specs_of_seeds(spec: LearnSpec, seeds: int, *, own_instances: bool = False) -> list[LearnSpec]:
    """The specifications of runs that differ in nothing but their seeds, and their instances if these are their own.

    Args:
        spec: The specification of the first of them.
        seeds: The number of runs, with consecutive seeds.
        own_instances: Whether each run has instances of its own: seed r those of run number r (`instance_seed_of`), as
            in the paper. Otherwise all have the same instances.

    Raises:
        RewardMachineError: There are no runs, or no such instances, or the specification asks for others.

    >>> specs = specs_of_seeds(standard_learning("craftworld", "op"), 2, own_instances=True)
    >>> [(spec.seed, spec.instance_seed) for spec in specs]
    [(0, 25101993), (1, 25041996)]
    """
    if seeds < 1:
        raise RewardMachineError(f"at least one seed is needed, not {seeds}")
    if own_instances and spec.fresh:
        raise RewardMachineError("fresh instances are everybody's: leave out instances of their own")
    if own_instances and spec.instance_seed != BASE_SEED:
        raise RewardMachineError("seeds with instances of their own have no common seed of instances: leave it out")
    numbers = range(spec.seed, spec.seed + seeds)
    return [
        replace(spec, seed=seed, instance_seed=instance_seed_of(seed) if own_instances else spec.instance_seed)
        for seed in numbers
    ]


def save_order(order: LearnOrder, path: Path) -> None:
    """Writes the settings of a run to `config.json`."""
    save_settings(path, LEARN, order)


def load_order(path: Path) -> LearnOrder:
    """Reads the settings of a run of this version or an earlier one."""
    order: LearnOrder = load_settings(
        path, LEARN, LearnOrder, {1: _from_format_1, 2: _from_format_2, 3: _from_format_3}
    )
    return order


def _from_format_1(content: Content) -> Content:
    """Rewrites settings of format 1, which had fewer settings, and only the exact learner.

    Its first versions had the number of episodes between evaluations among the settings of LHRM, not of its agent.
    """
    spec = content["spec"]
    config = {
        "learner_memory": None,
        "disjuncts": 1,
        "cyclic": False,
        "negative": False,
        **spec["config"],
    }
    every = config.pop("evaluate_episodes", None)
    config["agent"] = earlier_agent_settings({"evaluate_episodes": every, **config["agent"]})
    budget = {name: content.get(name) for name in ("steps", "episodes", "seconds")}
    return {
        "spec": {"learner": EXACT, **spec, "config": config},
        "budget": budget,
        "stop_at": content["stop_at"],
    }


def _from_format_2(content: Content) -> Content:
    """Rewrites settings of format 2, in which only each search for a machine had a time limit."""
    spec = content["spec"]
    return {**content, "spec": {**spec, "config": {"run_learner_seconds": None, **spec["config"]}}}


def _from_format_3(content: Content) -> Content:
    """Rewrites settings of format 3, which had no digressions."""
    spec = content["spec"]
    return {**content, "spec": {**spec, "config": {"digressions": 0.0, **spec["config"]}}}
