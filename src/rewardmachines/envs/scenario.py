"""A domain in one of its settings, with instances: everything there is to act in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.domain import BASE_SEED, INSTANCES, PUBLISHED, Domain
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.envs.registry import domain, domain_of
from rewardmachines.lowered import LoweredHierarchy, lower

PAPER_INSTANCE_SEEDS: Final = (BASE_SEED, 25041996, 31121960, 20091953, 30422020)
"""The seed of the first instance of each of the paper's five runs; the others have the seeds that follow."""
FURTHER_SEEDS: Final = 1_000_000_000
"""From here on are the seeds of instances for further runs; run r has those from `FURTHER_SEEDS` + 10,000 r on."""
_SEEDS_OF_A_RUN: Final = 10_000
_ALL_SEEDS: Final = 2**32


def instance_seed_of(run: int) -> int:
    """The seed of the first instance of a run that has instances of its own.

    The first five runs have the instances of the paper's five runs. Those of further runs are disjoint from them, and
    from each other, as long as a run has no more than 10,000 instances.

    Args:
        run: The number of the run, from 0.

    Raises:
        RewardMachineError: There are no instances for a run of that number.

    >>> [instance_seed_of(run) for run in (0, 1, 5)]
    [25101993, 25041996, 1000050000]
    """
    if 0 <= run < len(PAPER_INSTANCE_SEEDS):
        return PAPER_INSTANCE_SEEDS[run]
    seed = FURTHER_SEEDS + _SEEDS_OF_A_RUN * run
    if run < 0 or seed + _SEEDS_OF_A_RUN > _ALL_SEEDS:
        last = (_ALL_SEEDS - FURTHER_SEEDS) // _SEEDS_OF_A_RUN - 1
        raise RewardMachineError(f"runs with instances of their own have numbers from 0 to {last:,}, not {run:,}")
    return seed


@dataclass(frozen=True)
class Scenario:
    """A domain in a setting, with instances. The tasks are those of the domain."""

    domain: Domain
    setting: str
    environment: AnyEnvironment
    """Pure functions with static settings: what compiled programs are specialized to."""
    world: Any
    """The arrays of all instances: an argument of compiled programs."""
    instances: Sequence[Any]
    max_steps: int
    """The number of steps after which an episode is cut off."""

    @property
    def dead_ends(self) -> bool:
        """Whether the proposition of dead ends can be observed."""
        return self.domain.task_set.dead_end in self.environment.propositions

    def task(self, name: str) -> Hierarchy:
        """The hierarchy of a task of the domain, with dead ends if the setting has them."""
        return self.domain.hierarchy(name, dead_ends=self.dead_ends)

    def lower(self, hierarchies: Hierarchy | Sequence[Hierarchy]) -> LoweredHierarchy:
        """Tables of these hierarchies, with the bits of this environment's labels."""
        return lower(hierarchies, propositions=self.environment.propositions)


def scenario(
    domain_name: str,
    setting: str,
    *,
    seed: int = BASE_SEED,
    instances: int = INSTANCES,
    observation: str = PUBLISHED,
    max_steps: int = MAX_STEPS,
) -> Scenario:
    """Everything there is to act in, in a domain.

    Args:
        domain_name: The domain, in any case.
        setting: One of its settings, in any case.
        seed: Of the first instance; the others have the seeds from there on, as in the paper's runs.
        instances: How many there are.
        observation: What the agent sees, if the domain leaves a choice.
        max_steps: After which an episode is cut off.

    Raises:
        RewardMachineError: The domain, the setting or the observation does not exist, or a number is too small.
    """
    known = domain(domain_name)
    setting = known.setting_name(setting)
    if instances < 1 or max_steps < 1:
        raise RewardMachineError(f"at least one instance and one step are needed, not {instances} and {max_steps}")
    described = known.instances(setting, seed, instances)
    return Scenario(
        domain=known,
        setting=setting,
        environment=known.environment(setting, observation),
        world=known.world(described, max_steps),
        instances=described,
        max_steps=max_steps,
    )


class ScenarioSpec(Protocol):
    """The part of a run's specification that says where to act."""

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


def scenario_of(spec: ScenarioSpec, observation: str) -> Scenario:
    """The scenario that a run's specification asks for, with an observation by name."""
    return scenario(
        spec.domain,
        spec.setting,
        seed=spec.instance_seed,
        instances=spec.instances,
        observation=observation,
        max_steps=spec.max_steps,
    )


__all__ = [
    "BASE_SEED",
    "INSTANCES",
    "PAPER_INSTANCE_SEEDS",
    "Scenario",
    "ScenarioSpec",
    "domain_of",
    "instance_seed_of",
    "scenario",
    "scenario_of",
]
