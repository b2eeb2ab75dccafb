"""Whether options are chosen for one machine at a time or for all of them, the same ones are chosen."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from agents.compiled_agent import AGENT, OPTION_ROOM, ROOM, SETTINGS, begun, initial_states, moved
from agents.runnable import runnable_hierarchies
from agents.trees import same
from rewardmachines.agents.hierarchical_dqn import selection
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.options.option_set import OptionSet, slots_for
from rewardmachines.agents.options.tables import tabulate
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.lowered import lower
from strategies import ALL_LABELS, PROPOSITIONS, labels

ENVIRONMENTS = 8


@partial(jax.jit, static_argnums=0)
def _filled(config: HierarchicalDqnConfig, task: OptionTask, calls: Any, stacks: Any, states: Any, now: Any) -> Any:
    seen = now[:, None].astype(jnp.float32)
    return selection.fill(config, task, calls, stacks, states, seen, now, False, jax.random.key(0))


@settings(deadline=None, max_examples=40)
@given(
    tree=runnable_hierarchies(deep=True),
    walks=st.lists(st.lists(labels, min_size=2, max_size=2), min_size=ENVIRONMENTS, max_size=ENVIRONMENTS),
    seed=st.integers(0, 2**16),
)
def test_greedy_options_do_not_depend_on_who_is_served_together(
    tree: Hierarchy, walks: list[list[Label]], seed: int
) -> None:
    lowered = lower(tree, propositions=PROPOSITIONS, capacity=ROOM)
    option_set = OptionSet(tree, ALL_LABELS)
    task = OptionTask(jnp.int32(0), lowered.tables, tabulate(option_set, slots_for(option_set), lowered, OPTION_ROOM))
    calls = AGENT.create(task, jnp.int32(0), np.random.default_rng(seed)).calls
    now = jnp.arange(ENVIRONMENTS, dtype=jnp.int32)
    states = initial_states(task, jnp.full(ENVIRONMENTS, lowered.root, jnp.int32))
    for step in zip(*walks, strict=True):
        _, states = moved(task, states, jnp.asarray(np.stack([lowered.bits.encode(label) for label in step])))
    stacks = begun(task, states, now, jax.random.key(1))
    together = replace(SETTINGS, fill_machines=True)
    one_by_one, *others = (
        _filled(config, task, calls, stacks, states, now)
        for config in (SETTINGS, replace(SETTINGS, fill_together=3), together, replace(together, fill_together=3))
    )
    event(f"{len(np.unique(np.asarray(one_by_one.machine)))} machines choose")
    assert all(same(one_by_one, other) for other in others)
