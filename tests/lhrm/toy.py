"""Two rooms with three tasks on two levels: small enough to learn everything in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from agents.two_rooms import PROPOSITIONS, TwoRooms
from rewardmachines.agents.config import EpsilonSchedule
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.envs.domain import Domain, DomainSetting
from rewardmachines.envs.registry import register_domain, unregister_domain
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.library import TaskSet, domain_names

TWO_ROOMS = Domain(
    task_set=TaskSet(
        name="two-rooms",
        title="TwoRooms",
        propositions=PROPOSITIONS,
        tasks={"fetch": "k ; b", "press": "b ; g", "all": "fetch ; press"},
        shows_one_at_a_time=True,
    ),
    settings={"plain": DomainSetting("no dead ends")},
    environment=lambda _setting, _observation: TwoRooms(),
    instances=lambda _setting, _seed, count: tuple(range(count)),
    world=lambda _instances, _max_steps: None,
)
"""A domain that only the tests know."""
MAX_STEPS = 60
TOY = Scenario(
    domain=TWO_ROOMS, setting="plain", environment=TwoRooms(), world=None, instances=(0,), max_steps=MAX_STEPS
)
"""Its only setting with its only instance."""
TREES = {name: TOY.task(name) for name in TWO_ROOMS.tasks}
LABELS = TWO_ROOMS.labels() or ()
"""All labels that can be seen there."""


SMALL = LhrmConfig(
    HierarchicalDqnConfig(
        environments=16,
        batch=64,
        network=NetworkConfig(Body.MLP, hidden=(64,)),
        learning_rate=3e-3,
        replay_size=20_000,
        replay_start=500,
        target=100,
        curriculum_weight=0.5,
        chunk=50,
        evaluate_every=2,
        exploration=EpsilonSchedule(steps=1_000),
        calls=CallConfig(
            network=NetworkConfig(Body.MLP, hidden=(32,)),
            replay_size=1_000,
            replay_start=50,
            target=50,
            exploration=EpsilonSchedule(steps=30),
        ),
    ),
    goals=(8, 12),
    examples=5,
)


def quickly(**changes: object) -> LhrmConfig:
    return replace(SMALL, **changes)  # type: ignore[arg-type]


@contextmanager
def two_rooms_registered() -> Iterator[None]:
    """Inside, the domain can be found by its name, as a folder of a run names it."""
    was_known = TWO_ROOMS.name in domain_names()
    register_domain(TWO_ROOMS)
    try:
        yield
    finally:
        if not was_known:
            unregister_domain(TWO_ROOMS.name)
