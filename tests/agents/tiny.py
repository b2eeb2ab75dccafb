"""A run that takes a moment: a small network that need not learn anything, and programs that runs share."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from rewardmachines.agents.algorithms import crm_settings
from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.spec import TrainSpec, standard_spec
from rewardmachines.envs.scenario import BASE_SEED

NETWORK = NetworkConfig(Body.FLAT, hidden=(8,))
CONFIG = HierarchicalDqnConfig(
    environments=4, batch=8, network=NETWORK, call_network=NETWORK, replay_size=2000, replay_start=200, chunk=25,
    evaluate_every=2, call_replay_size=100, call_replay_start=5, annealing_steps=500,
)  # fmt: skip
CHUNK = CONFIG.chunk * CONFIG.environments
"""Steps of one."""


def tiny_spec(**changes: Any) -> TrainSpec:
    """The hierarchical settings are turned into those of CRM if that is to be trained."""
    config = changes.pop("config", CONFIG)
    if changes.get("algorithm") is Algorithm.CRM:
        config = crm_settings(config)
    spec = standard_spec("craftworld", "op", "bucket", instances=2, max_steps=60)
    return replace(spec, config=config, **changes)


def tiny_arguments() -> list[str]:
    """The same on the command line."""
    network = '{"body": "flat", "filters": [16, 32, 32], "hidden": [8]}'
    changes = [f"{name}={getattr(CONFIG, name)}" for name in vars(CONFIG) if isinstance(getattr(CONFIG, name), int)]
    changes = [c for c in changes if not c.endswith(("True", "False"))]
    changes += [f"network={network}", f"call_network={network}"]
    options = [word for change in changes for word in ("--set", change)]
    return ["train", "craftworld", "--task", "bucket", "--instances", "2", "--max-steps", "60", *options]


class SharedPrograms:
    """Programs of training that were compiled: runs whose programs are the same share them.

    Seeds, instances, and when a run learns first and is evaluated, are not part of programs. Programs remember nothing.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._make = vars(Session)["_programs"].func

    def of(self, session: Session) -> Any:
        config = replace(session.spec.config, replay_start=1, evaluate_every=1, evaluate_episodes=None)
        key = replace(session.spec, seed=0, instance_seed=BASE_SEED, config=config), session.hierarchy
        if key not in self._made:
            self._made[key] = self._make(session)
        return self._made[key]

    def cache_clear(self) -> None:
        self._made.clear()


PROGRAMS = SharedPrograms()
"""Dropped when a process has become large, as all compiled programs are."""


@contextmanager
def programs_shared() -> Iterator[None]:
    """Inside, runs share their programs, also with those of earlier times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "_programs", property(PROGRAMS.of))
        yield
