"""Tiny Q-functions for the formulas of a task with a call, and steps from which they learn."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import rewardmachines as rm
from rewardmachines.agents.hierarchical_dqn import formula_q
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.registry import HRL
from rewardmachines.agents.replay import Transition
from rewardmachines.agents.setup import build_task, prepare

TINY = NetworkConfig(Body.FLAT, hidden=(3,))
ACTIONS = 2
KEY = jax.random.key(0)


def task_with_a_call() -> OptionTask:
    """`b` is bit 0, `g` bit 1, `k` bit 2 of labels."""
    plan = prepare(rm.compile_task("first ; g", tasks={"first": "k ; b"}), HRL, ("b", "g", "k"))
    task = build_task(plan, None)
    assert isinstance(task, OptionTask)
    return task


TASK = task_with_a_call()
SLOTS = TASK.options.is_active.shape[0]


def settings(**changes: Any) -> HierarchicalDqnConfig:
    usual: dict[str, Any] = {"network": TINY, "calls": CallConfig(TINY), "batch": 4}
    return HierarchicalDqnConfig(**(usual | {"replay_size": 8, "replay_start": 1} | changes))


@cache
def bank(config: HierarchicalDqnConfig) -> FormulaBank:
    """Untrained Q-functions, one for each formula of the task."""
    return formula_q.create(config, SLOTS, (2,), ACTIONS, np.random.default_rng(0))


def some_rows(count: int = 4) -> Transition:
    """Four steps that lead to nothing, to `b`, to `g`, which was seen before them already, and to `k`."""
    noise = np.random.default_rng(1)
    return Transition(
        before=jnp.asarray(noise.normal(size=(count, 2)), jnp.float32),
        action=jnp.arange(count) % ACTIONS,
        after=jnp.asarray(noise.normal(size=(count, 2)), jnp.float32),
        label=jnp.asarray([[0], [1], [2], [4]], jnp.uint32),
        is_event=jnp.array([True, True, False, True]),
        is_dead_end=jnp.array([False, False, False, False]),
    )
