"""Agents learn a task of three steps in two rooms, in seconds, in both drivers."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import rewardmachines as rm
from agents.two_rooms import CELLS, PROPOSITIONS
from rewardmachines.agents.config import EpsilonSchedule, Layout
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.registry import agent_kind
from rewardmachines.envs import LabelingWrapper
from rewardmachines.rollout.algorithm import UNLIMITED
from rewardmachines.rollout.gym_driver import GymSuite
from rewardmachines.rollout.training import Training
from rollout.rooms import LABELS, MAX_STEPS, Rooms, gym_training, label_of, make_rooms, training

TASK = rm.compile_task("first ; g", tasks={"first": "k ; b"}, propositions=PROPOSITIONS)
SMALL = HierarchicalDqnConfig(
    environments=8,
    batch=64,
    network=NetworkConfig(Body.FLAT, hidden=(32,)),
    learning_rate=3e-3,
    replay_size=20_000,
    replay_start=800,
    target=50,
    chunk=100,
    evaluate_every=10**6,
    exploration=EpsilonSchedule(steps=3_000),
    calls=CallConfig(
        network=NetworkConfig(Body.FLAT, hidden=(16,)),
        replay_size=1_000,
        replay_start=32,
        discount=0.95,
        exploration=EpsilonSchedule(steps=100),
    ),
)


def make_vectors() -> Any:
    """Rooms that show a vector in which one number is not 0."""
    box = spaces.Box(0, 1, (CELLS,), np.float32)
    seen = gymnasium.wrappers.TransformObservation(Rooms(), lambda cell: np.eye(CELLS, dtype=np.float32)[cell], box)
    timed = gymnasium.wrappers.TimeLimit(seen, MAX_STEPS)
    return LabelingWrapper(timed, labels=lambda row: label_of(int(row.argmax())), propositions=PROPOSITIONS)


def run_of(algorithm: str, layout: Layout, driver: str, stack: ExitStack) -> Training:
    """CRM sees no reward before the task is solved, so it must explore for longer."""
    config: Any = agent_kind(algorithm).settings(replace(SMALL, layout=layout))
    if isinstance(config, CrmConfig):
        config = replace(config, exploration=replace(config.exploration, steps=20_000))
    if driver == "jax":
        return training(driver, algorithm, config, tree=TASK)
    run = gym_training(make_rooms if driver == "cells" else make_vectors, TASK, config, labels=LABELS)
    assert isinstance(run.suite, GymSuite)
    stack.callback(run.suite.close)
    return run


@pytest.mark.parametrize(
    ("algorithm", "layout", "driver", "chunks"),
    [
        ("hrl", Layout.SHARED, "jax", 20),
        ("hrl", Layout.SEPARATE, "jax", 20),
        ("flat-hrl", Layout.SHARED, "jax", 20),
        ("crm", Layout.SHARED, "jax", 40),
        ("crm", Layout.SEPARATE, "jax", 40),
        ("hrl", Layout.SHARED, "cells", 16),
        ("crm", Layout.SHARED, "vectors", 30),
    ],
)
def test_agents_solve_a_task_of_three_steps(
    algorithm: str, layout: Layout, driver: str, chunks: int, stack: ExitStack
) -> None:
    run = run_of(algorithm, layout, driver, stack)
    assert TASK.height > 1
    assert run.plan.hierarchy.height == (1 if run.agent_kind.is_flat else 2)
    rows = [run.advance() for _ in range(chunks)]
    evaluated = run.driver.evaluate(run.tables, run.state.agent, np.ones(1, bool), 0)
    assert evaluated is not None
    assert evaluated[0].min() == 1.0
    first, last = (sum(sum(row.goals) for row in part) for part in (rows[:5], rows[-5:]))
    assert last > 2 * first


def test_machines_learn_when_they_are_ready_whether_or_not_formulas_are(stack: ExitStack) -> None:
    """Nothing is owed until formulas learn, to be paid in one burst."""
    run = run_of("hrl", Layout.SHARED, "jax", stack)
    for _ in range(12):
        run.state, _ = run.driver.chunk(run.tables, run.state, learns=False, most=UNLIMITED)
    calls = run.state.agent.calls
    assert int(run.state.agent.formulas.rounds) == 0
    assert int(calls.updates.sum()) > 0
    assert float(calls.owed.max()) < 1
