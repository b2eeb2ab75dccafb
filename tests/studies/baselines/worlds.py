"""The corridor of `tests/envs`, as a domain that baselines can be run in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from envs.corridor import CORRIDOR
from rewardmachines.envs.registry import register_domain, unregister_domain
from rewardmachines.envs.scenarios import Scenario, scenario
from rewardmachines.studies.baselines.protocol import flat_task
from rewardmachines.studies.baselines.random_episodes import RandomEpisodes

TASKS = {"leave": "coin ; door", "return": "coin ; door ; coin", "twice": "coin ; coin"}
DOMAIN = replace(CORRIDOR, task_set=replace(CORRIDOR.task_set, tasks=TASKS), quick_tasks=())


@contextmanager
def corridor_registered() -> Iterator[None]:
    """Inside, the domain can be found by its name, as a folder of a run names it."""
    register_domain(DOMAIN)
    try:
        yield
    finally:
        unregister_domain(DOMAIN.name)


def corridor(max_steps: int = 60) -> Scenario:
    with corridor_registered():
        return scenario(DOMAIN.name, "short", instances=3, max_steps=max_steps)


def episodes_of(task: str, *, seed: int = 0, batch: int = 64, max_steps: int = 60) -> RandomEpisodes:
    world = corridor(max_steps)
    return RandomEpisodes(world, flat_task(world, task), seed, batch)
