"""Scenarios: a domain in one of its settings, with instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import jax
import jax.numpy as jnp

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.domain import BASE_SEED, INSTANCES, PUBLISHED, Domain
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.envs.noise import NO_NOISE, WorldNoise
from rewardmachines.envs.registry import domain, domain_of
from rewardmachines.lowered import LoweredHierarchy, lower

PAPER_INSTANCE_SEEDS: Final = (BASE_SEED, 25041996, 31121960, 20091953, 30422020)
"""The seed of the first instance of each of the paper's five runs; the others have the seeds that follow."""
FURTHER_SEEDS: Final = 1_000_000_000
"""From here on are the seeds of instances for further runs; run r has those from `FURTHER_SEEDS` + 10,000 r on."""
_SEEDS_OF_A_RUN: Final = 10_000
_ALL_SEEDS: Final = 2**32
HELD_OUT_SEED: Final = 900_000_000
"""The seed of the first instance that is held out where agents learn in fresh instances: none of a run of the paper."""
MOST_INSTANCES: Final = 2**16
"""A moment is remembered with the number of its instance, in 16 bits."""


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
    fresh: int = 0
    """The number of fresh instances for training; those above are then left for evaluation. With 0, training takes
    place in those above, as in the paper."""
    fresh_seed: int = 0
    """The seed with which they are drawn."""
    noise: WorldNoise = NO_NOISE
    """The noise of what agents observe while they learn machines. Greedy episodes are without noise."""

    @cached_property
    def training_world(self) -> Any:
        """The arrays of all instances, the fresh ones last. They are drawn when they are first needed."""
        if not self.fresh:
            return self.world
        if self.domain.draw is None:
            seed = self.fresh_seed + len(self.instances)  # those from there on are not held out
            further = self.domain.instances(self.setting, seed, self.fresh)
            return self.domain.world([*self.instances, *further], self.max_steps)
        drawn = self.domain.draw(self.setting, self.fresh_seed, self.fresh, self.max_steps)
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), self.world, drawn)

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
    fresh: int = 0,
    noise: WorldNoise = NO_NOISE,
) -> Scenario:
    """A domain in a setting, with instances.

    Args:
        domain_name: The domain, in any case.
        setting: One of its settings, in any case.
        seed: The seed of the first instance; the others have the seeds from there on, as in the paper's runs.
        instances: The number of instances.
        observation: The name of the observation, if the domain leaves a choice.
        max_steps: Steps after which an episode is truncated.
        fresh: The number of further instances, drawn with the same seed, that training takes place in instead.
        noise: The noise of what agents observe while they learn machines.

    Raises:
        RewardMachineError: The domain, the setting or the observation does not exist, or a number is too small.
    """
    known = domain(domain_name)
    setting = known.setting_name(setting)
    if instances < 1 or max_steps < 1:
        raise RewardMachineError(f"at least one instance and one step are needed, not {instances} and {max_steps}")
    if instances + fresh > MOST_INSTANCES:
        raise RewardMachineError(f"there can be {MOST_INSTANCES:,} instances at most, not {instances + fresh:,}")
    described = known.instances(setting, seed, instances)
    return Scenario(
        domain=known,
        setting=setting,
        environment=known.environment(setting, observation),
        world=known.world(described, max_steps),
        instances=described,
        max_steps=max_steps,
        fresh=fresh,
        fresh_seed=seed,
        noise=noise,
    )


def fresh_fields(domain: Domain, setting: str) -> dict[str, int]:
    """The fields of a run's specification that ask for fresh instances: as many as the domain says."""
    sizes = domain.settings[setting].fresh
    return {"fresh": sizes.drawn, "instances": sizes.held_out, "instance_seed": HELD_OUT_SEED}


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


__all__ = [
    "BASE_SEED",
    "HELD_OUT_SEED",
    "INSTANCES",
    "PAPER_INSTANCE_SEEDS",
    "Scenario",
    "ScenarioSpec",
    "domain_of",
    "fresh_fields",
    "instance_seed_of",
    "scenario",
]
