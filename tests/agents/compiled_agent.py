"""A small compiled agent, and its numbers read as the names of the plain reference."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agents import reference
from agents.reference_options import Option
from rewardmachines.agents.config import EpsilonSchedule, Layout
from rewardmachines.agents.hierarchical_dqn import selection
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.options import stack as options
from rewardmachines.agents.options.option_set import OptionSet
from rewardmachines.agents.options.tables import OptionCapacity
from rewardmachines.agents.protocol import Step
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.lowered import Capacity, LoweredHierarchy, moves
from rewardmachines.lowered import initial_state as lowered_initial_state

ROOM = Capacity(machines=4, states=8, chains=64, depth=3, edges=8, disjuncts=16)
OPTION_ROOM = OptionCapacity(outputs=32, contexts=32, formulas=32, slots=32)
DEPTH = ROOM.depth + 1
TINY = NetworkConfig(Body.FLAT, hidden=(4,))
SETTINGS = HierarchicalDqnConfig(
    environments=4,
    layout=Layout.SEPARATE,
    network=TINY,
    batch=4,
    replay_size=64,
    replay_start=1,
    exploration=EpsilonSchedule(steps=10**9),
    calls=CallConfig(network=TINY, replay_size=64, exploration=EpsilonSchedule(steps=10**9)),
)
AGENT = HierarchicalAgent(SETTINGS, (1,), 2, DEPTH, lambda _, memory: memory[None].astype(jnp.float32))


@jax.jit
def filled(task: OptionTask, state: AgentState, stacks: Any, states: Any, now: Any, key: Any) -> Any:
    observations = now[:, None].astype(jnp.float32)
    return selection.fill(SETTINGS, task, state.calls, stacks, states, observations, now, True, key)


@jax.jit
def observed(task: OptionTask, state: AgentState, stacks: Any, step: Step, key: Any) -> Any:
    return AGENT.observe(task, state, stacks, step, key)


@jax.jit
def begun(task: OptionTask, states: Any, now: Any, key: Any) -> Any:
    return AGENT.begin_plans(task, states, now, key)


@jax.jit
def moved(task: OptionTask, states: Any, label: Any) -> Any:
    return jax.vmap(partial(moves, task.tables))(states, label)


@jax.jit
def initial_states(task: OptionTask, roots: Any) -> Any:
    return jax.vmap(partial(lowered_initial_state, task.tables))(roots)


@jax.jit
def picked(mask: Any, one: Any, other: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(mask.reshape(-1, *[1] * (a.ndim - 1)), a, b), one, other)


def one_of(batch: Any, i: int) -> Any:
    return jax.tree.map(lambda x: np.asarray(x)[i], batch)


class Decoder:
    """Numbers back into names."""

    def __init__(self, tree: Hierarchy, lowered: LoweredHierarchy, option_set: OptionSet) -> None:
        self.tree, self.lowered, self.option_set = tree, lowered, option_set

    def option(self, machine: int, state: int, context: int, output: int) -> Option:
        name = self.lowered.machines[machine]
        callee, disjunct = self.option_set.outputs[name][output]
        return Option(callee, disjunct, name, self.tree[name].states[state], self.option_set.contexts[context])

    def stack(self, stacks: Any, i: int) -> reference.OptionStack:
        part = one_of(stacks, i)
        return tuple(
            reference.Running(
                self.option(int(part.machine[d]), int(part.state[d]), int(part.context[d]), int(part.output[d])),
                int(part.start[d]),
                int(part.steps[d]),
            )
            for d in range(int(part.first), int(part.size))
        )

    def experience(self, row: Any) -> reference.Experience:
        option = self.option(int(row.machine), int(row.state), int(row.context), int(row.output))
        return reference.Experience(
            option.machine, option.state, option.context, (option.callee, option.formula), int(row.start),
            int(row.steps), self.tree[option.machine].states[int(row.next_state)],
            self.option_set.contexts[int(row.next_context)], bool(row.is_accepted), bool(row.is_terminal),
        )  # fmt: skip


def cleared(stacks: Any, states: Any, which: Any) -> Any:
    """As after an exploratory guide: whatever the hierarchies have called, nobody has chosen it."""
    return jax.vmap(options.cleared)(stacks, states.depth, jnp.asarray(which))
