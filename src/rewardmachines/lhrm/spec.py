"""What is to be learned, where, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardmachines.agents.presets import Preset
from rewardmachines.agents.training.spec import check_seed
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import BASE_SEED, INSTANCES, Scenario, scenario_of
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.lhrm.worlds.compiled import CompiledWorlds
from rewardmachines.runs.config_file import LEARN, load_settings, save_settings


@dataclass(frozen=True)
class LearnSpec:
    """What is learned, completely: the same on every machine."""

    domain: str
    setting: str
    tasks: tuple[str, ...]
    config: LhrmConfig
    seed: int = 0
    instances: int = INSTANCES
    instance_seed: int = BASE_SEED
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not self.tasks:
            raise RewardMachineError("there is no task to learn")
        if twice := next((name for name in self.tasks if self.tasks.count(name) > 1), None):
            raise RewardMachineError(f"the task '{twice}' is there twice")

    def scenario(self) -> Scenario:
        return scenario_of(self, self.config.agent.observation)

    def worlds(self) -> CompiledWorlds:
        return CompiledWorlds(self.scenario(), self.tasks, flat=self.config.callables is Callables.NONE)


@dataclass(frozen=True)
class LearnOrder:
    """A complete order to learn. What is not limited goes on until everything is learned."""

    spec: LearnSpec
    stop_at: float
    """The mean return, over three evaluations, that is good enough for every task; 0 for never."""
    steps: int | None = None
    """Of all environments together, at most."""
    seconds: float | None = None
    """At most; pauses do not count."""
    episodes: int | None = None
    """Of all tasks together, at most."""

    def __post_init__(self) -> None:
        if not 0 <= self.stop_at <= 1:
            raise RewardMachineError(f"a return that is good enough lies between 0 and 1, not {self.stop_at:g}")
        if self.steps is not None and self.steps < 1:
            raise RewardMachineError(f"at least one step is needed, not {self.steps}")
        if self.seconds is not None and not self.seconds > 0:
            raise RewardMachineError(f"more than {self.seconds:g} seconds are needed")
        if self.episodes is not None and self.episodes < 1:
            raise RewardMachineError(f"at least one episode is needed, not {self.episodes}")
        if not self.stop_at and self.steps is None and self.seconds is None and self.episodes is None:
            raise RewardMachineError(
                "it would never end: say how many steps, episodes or seconds it may take, or what to stop at"
            )


def standard_learning(
    domain_name: str,
    setting: str,
    tasks: Sequence[str] | None = None,
    *,
    settings: Preset | str = Preset.FAST,
    **changes: Any,
) -> LearnSpec:
    """Tasks, all of the domain if none are named, with the settings of a preset.

    `changes` are other fields of the spec, such as `seed=5`.

    >>> standard_learning("craftworld", "op").config.first_goals
    25
    """
    known = domain(domain_name)
    setting = known.setting_name(setting)
    names = tuple(known.tasks) if tasks is None else tuple(map(known.task_name, tasks))
    return replace(LearnSpec(known.name, setting, names, lhrm_preset(settings, known.name, setting)), **changes)


def save_order(order: LearnOrder, path: Path) -> None:
    save_settings(path, LEARN, order)


def load_order(path: Path) -> LearnOrder:
    order: LearnOrder = load_settings(path, LEARN, LearnOrder)
    return order
