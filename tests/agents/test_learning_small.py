"""Agents learn a task of three steps in two rooms, in seconds, and the same way every time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rewardmachines as rm
from agents.two_rooms import PROPOSITIONS, TwoRooms
from rewardmachines.agents.algorithms import crm_settings
from rewardmachines.agents.chunk_metrics import Assignments, ChunkMetrics
from rewardmachines.agents.config import AgentConfig, Algorithm, Layout
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.loop import Trainer, TrainingState
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.setup import Plan, build_agent, build_task, prepare
from rewardmachines.core.formula import Label

TASK = rm.compile_task("first ; g", tasks={"first": "k ; b"})
LABELS: list[Label] = [frozenset(), *(frozenset({p}) for p in PROPOSITIONS)]
SMALL = HierarchicalDqnConfig(
    environments=8,
    batch=64,
    network=NetworkConfig(Body.FLAT, hidden=(32,)),
    learning_rate=3e-3,
    replay_size=20_000,
    replay_start=800,
    target_period=50,
    annealing_steps=3_000,
    call_network=NetworkConfig(Body.FLAT, hidden=(16,)),
    call_replay_size=1_000,
    call_replay_start=32,
    call_discount=0.95,
    call_annealing=100,
    chunk=100,
)
MAX_STEPS = 60


class Run:
    """A compiled training that can be repeated."""

    def __init__(self, algorithm: Algorithm, config: AgentConfig) -> None:
        environment = TwoRooms()
        self.plan: Plan = prepare(TASK, algorithm, PROPOSITIONS, LABELS)
        agent = build_agent(self.plan, config, environment.observation_shape, environment.actions, environment.recall)
        self.trainer, self.task = Trainer(agent, environment, MAX_STEPS), build_task(self.plan, None)
        self.everywhere = Assignments(jnp.asarray(self.plan.lowered.roots, jnp.int32), jnp.ones((1, 1)))
        self._chunk = jax.jit(self.trainer.chunk)
        self._evaluate = jax.jit(self.trainer.evaluate)

    def train(self, chunks: int, seed: int, *, ready: bool = True) -> tuple[TrainingState, list[ChunkMetrics]]:
        """Learning begins at once, or not at all."""
        state = self.trainer.begin(self.task, self.everywhere, seed)
        told = []
        for _ in range(chunks):
            state, metrics = self._chunk(self.task, self.everywhere, state, ready)
            told.append(jax.tree.map(np.asarray, metrics))
        return state, told

    def greedy_return(self, state: TrainingState) -> float:
        one = jnp.zeros(4, jnp.int32)
        returned, _ = self._evaluate(self.task, one + self.plan.lowered.root, one, state.agent, jax.random.key(0))
        return float(returned.mean())


@cache
def run_of(algorithm: Algorithm, layout: Layout) -> Run:
    """CRM sees no reward before the task is solved, so it must explore for longer."""
    config = replace(SMALL, layout=layout)
    if algorithm is Algorithm.CRM:
        return Run(algorithm, replace(crm_settings(config), annealing_steps=30_000))
    return Run(algorithm, config)


def same(one: Any, other: Any) -> bool:
    """Bit for bit."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


@pytest.mark.parametrize(
    ("algorithm", "layout", "chunks"),
    [
        (Algorithm.HRL, Layout.SHARED, 20),
        (Algorithm.HRL, Layout.SEPARATE, 20),
        (Algorithm.FLAT_HRL, Layout.SHARED, 20),
        (Algorithm.CRM, Layout.SHARED, 40),
        (Algorithm.CRM, Layout.SEPARATE, 40),
    ],
)
def test_agents_solve_a_task_of_three_steps(algorithm: Algorithm, layout: Layout, chunks: int) -> None:
    run = run_of(algorithm, layout)
    state, told = run.train(chunks, seed=0)
    assert run.greedy_return(state) == 1.0
    first, last = (sum(int(metrics.goals.sum()) for metrics in part) for part in (told[:5], told[-5:]))
    assert last > 2 * first


@pytest.mark.parametrize("algorithm", [Algorithm.HRL, Algorithm.CRM])
def test_the_same_seed_gives_the_same_run_and_another_seed_another(algorithm: Algorithm) -> None:
    run = run_of(algorithm, Layout.SHARED)
    once, again, other = (run.train(4, seed=seed) for seed in (3, 3, 4))
    assert same(once[1], again[1])
    assert same(once[0].agent, again[0].agent)
    assert not same(once[1], other[1])


@pytest.mark.parametrize("algorithm", [Algorithm.HRL, Algorithm.CRM])
def test_until_it_is_ready_an_agent_remembers_and_learns_nothing(algorithm: Algorithm) -> None:
    run = run_of(algorithm, Layout.SHARED)
    fresh = run.trainer.begin(run.task, run.everywhere, 3).agent
    state, told = run.train(1, seed=3, ready=False)

    def networks(agent: Any) -> Any:
        return agent.formulas.online if algorithm is Algorithm.HRL else agent.online

    assert same(networks(state.agent), networks(fresh))
    assert not same(networks(run.train(1, seed=3)[0].agent), networks(fresh))
    assert int(state.agent.replay.written[0]) == SMALL.chunk * SMALL.environments
    assert float(told[0].losses.formulas) == 0


def test_machines_learn_when_they_are_ready_whether_or_not_formulas_are() -> None:
    """Nothing is owed until formulas learn, to be paid in one burst."""
    state, _ = Run(Algorithm.HRL, replace(SMALL, call_replay_start=4)).train(8, seed=3, ready=False)
    calls = state.agent.calls
    assert int(state.agent.formulas.rounds) == 0
    assert int(calls.updates.sum()) > 0
    assert float(calls.owed.max()) < 1


def test_the_hierarchy_of_the_task_calls_a_machine() -> None:
    assert TASK.height > 1
    assert run_of(Algorithm.FLAT_HRL, Layout.SHARED).plan.hierarchy.height == 1
