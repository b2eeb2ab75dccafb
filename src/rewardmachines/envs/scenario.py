"""A domain in one of its settings, with instances: everything there is to act in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.envs import craftworld, waterworld
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.library import CRAFTWORLD, DOMAINS, WATERWORLD, Domain, domain, task
from rewardmachines.lowered import LoweredHierarchy, lower

SETTINGS: Final = {
    CRAFTWORLD: tuple(setting.value for setting in craftworld.Setting),
    WATERWORLD: tuple(setting.value for setting in waterworld.Setting),
}
INSTANCES: Final = craftworld.INSTANCES
BASE_SEED: Final = craftworld.BASE_SEEDS[0]


@dataclass(frozen=True)
class Scenario:
    """`environment` is static, `world` its arrays; the tasks come from the library."""

    domain: Domain
    setting: str
    environment: AnyEnvironment
    world: Any
    instances: Sequence[Any]
    max_steps: int

    @property
    def dead_ends(self) -> bool:
        return self.domain.dead_end in self.environment.propositions

    def task(self, name: str) -> Hierarchy:
        """The hierarchy of a task of the domain, with dead ends if the setting has them."""
        return task(self.domain.name, name, dead_ends=self.dead_ends)

    def lower(self, hierarchies: Hierarchy | Sequence[Hierarchy]) -> LoweredHierarchy:
        """With the bits of this environment's labels."""
        return lower(hierarchies, propositions=self.environment.propositions)


def scenario(
    domain_name: str,
    setting: str,
    *,
    seed: int = BASE_SEED,
    instances: int = INSTANCES,
    observation: str | craftworld.Observation = craftworld.Observation.PUBLISHED,
    max_steps: int = MAX_STEPS,
) -> Scenario:
    """The instances have consecutive seeds from `seed`, as those of the paper's runs."""
    known = domain(domain_name)
    setting = check_setting(known.name, setting)
    if instances < 1 or max_steps < 1:
        raise RewardMachineError(f"at least one instance and one step are needed, not {instances} and {max_steps}")
    if known.name == CRAFTWORLD:
        grids = craftworld.instances(setting, seed, instances)
        environment = craftworld.CraftWorld(craftworld.Setting(setting), _observation(observation))
        return Scenario(known, setting, environment, craftworld.build_world(grids), grids, max_steps)
    boxes = waterworld.instances(setting, seed, instances)
    water = waterworld.WaterWorld(waterworld.Setting(setting))
    return Scenario(known, setting, water, waterworld.build_world(boxes, max_steps), boxes, max_steps)


class Placed(Protocol):
    """An order that says where to act."""

    @property
    def domain(self) -> str: ...
    @property
    def setting(self) -> str: ...
    @property
    def instances(self) -> int: ...
    @property
    def instance_seed(self) -> int: ...
    @property
    def max_steps(self) -> int: ...


def scenario_of(order: Placed, observation: str) -> Scenario:
    """Where an order says."""
    return scenario(
        order.domain,
        order.setting,
        seed=order.instance_seed,
        instances=order.instances,
        observation=observation,
        max_steps=order.max_steps,
    )


def domain_of(setting: str) -> str:
    """The domain that has this setting: no two have one of the same name."""
    found = next((name for name, known in SETTINGS.items() if setting.lower() in known), None)
    if found is None:
        known = [setting for settings in SETTINGS.values() for setting in settings]
        hint = suggestion(setting.lower(), known) or f"; there are {', '.join(known)}"
        raise RewardMachineError(f"there is no setting '{setting}'{hint}")
    return found


def check_setting(domain_name: str, setting: str) -> str:
    known = SETTINGS[domain_name]
    if setting.lower() not in known:
        hint = suggestion(setting.lower(), known) or f"; there are {', '.join(known)}"
        raise RewardMachineError(f"{domain(domain_name).title} has no setting '{setting}'{hint}")
    return setting.lower()


def _observation(choice: str | craftworld.Observation) -> craftworld.Observation:
    try:
        return craftworld.Observation(choice)
    except ValueError:
        choices = ", ".join(o.value for o in craftworld.Observation)
        raise RewardMachineError(f"the observation is one of {choices}, not '{choice}'") from None


__all__ = [
    "BASE_SEED", "DOMAINS", "INSTANCES", "SETTINGS", "Placed", "Scenario", "check_setting", "domain_of", "scenario",
    "scenario_of",
]  # fmt: skip
