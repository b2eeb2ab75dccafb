"""Runs in memory, for benchmarks that measure them without a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rewardmachines.envs.registry import domain_of
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.rollout.training import Training
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import LearnArguments, RunOrder, TrainArguments, order_of, orders_of_seeds
from rewardmachines.runs.session import Session

NOWHERE: Final = RunFolder(Path("nowhere"))
"""The folder of orders that are never carried out there."""


def trainings(setting: str, task: str, agent: str, settings: Any, seeds: int = 1) -> list[Training]:
    """Runs that train an agent, with consecutive seeds and the same instances."""
    asked = TrainArguments(domain_of(setting), task, agent=agent, setting=setting, settings=settings)
    found = []
    for order in orders_of_seeds(order_of(asked, NOWHERE, resume=False), seeds):
        run = Session(order.config, order.hierarchies, order.given).algorithm
        assert isinstance(run, Training)
        found.append(run)
    return found


def learning_orders(setting: str, settings: Any, seeds: int) -> list[RunOrder]:
    """Orders to learn all tasks of a domain, with consecutive seeds and instances of their own."""
    asked = LearnArguments(domain_of(setting), setting=setting, settings=settings)
    return orders_of_seeds(order_of(asked, NOWHERE, resume=False), seeds, own_instances=True)


def learning(order: RunOrder, solvers: Solvers) -> Lhrm:
    """A run of LHRM."""
    run = Session(order.config, order.hierarchies, order.given, solvers).algorithm
    assert isinstance(run, Lhrm)
    return run
