"""The agent that exploits a hierarchy: options at every level, chosen, run, ended and learned from.

Pure functions on batches of N environments. Whoever drives them, a compiled loop or a Gymnasium environment, calls
`act`, `observe` and `learn` in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents import replay
from rewardmachines.agents.double_dqn import exploration
from rewardmachines.agents.hierarchical_dqn import call_q, formula_q, learning, selection
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.state import AgentState, enlarged
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.options import stack as options
from rewardmachines.agents.options.stack import Experience, OptionStack
from rewardmachines.agents.protocol import Losses, Ready, Recall, Step
from rewardmachines.agents.replay import Transition
from rewardmachines.lowered import State

__all__ = ["AgentState", "HierarchicalAgent", "enlarged"]


@dataclass(frozen=True)
class HierarchicalAgent:
    """Static settings; what is learned is in `AgentState`."""

    config: HierarchicalDqnConfig
    shape: tuple[int, ...]
    actions: int
    depth: int
    """How many options can run at once: the height of the hierarchy."""
    recall: Recall

    # -- to begin with

    def create(self, task: OptionTask, memory: Any, chance: Chance) -> AgentState:
        """Knows nothing yet. `memory` is any moment as the environment remembers it."""
        words = task.options.required.shape[1]
        nothing, no, label = jnp.int32(0), jnp.zeros((), bool), jnp.zeros(words, jnp.uint32)
        transition = Transition(memory, jnp.uint8(0), memory, label, no, no)
        experience = Experience(nothing, nothing, nothing, nothing, nothing, memory, memory, nothing, nothing, no, no)
        machines, slots = task.options.callee.shape[0], task.options.is_active.shape[0]
        return AgentState(
            formula_q.create(self.config, slots, self.shape, self.actions, chance),
            call_q.create(self.config, task.options, self.shape, chance),
            replay.empty(transition, 1, self.config.replay_size),
            replay.empty(experience, machines, self.config.call_replay_size),
        )

    def begin_plans(self, task: OptionTask, states: State, now: Any, key: PRNGKeyArray) -> OptionStack:
        """Option stacks for the beginnings of episodes, the first label of which the hierarchies have been fed."""
        keys = jax.random.split(key, states.machine.shape[0])
        return jax.vmap(partial(options.begun, task.options, self.depth))(states, now, keys)

    # -- acting

    def act(
        self,
        task: OptionTask,
        state: AgentState,
        stacks: OptionStack,
        states: State,
        observations: Float[Array, "N ..."],
        now: Any,
        explores: bool,
        key: PRNGKeyArray,
        guided: Bool[Array, " N"] | None = None,
    ) -> tuple[Int32[Array, " N"], AgentState, OptionStack]:
        """An action for every environment, chosen by options that are chosen first where none is running.

        Where it is `guided`, nothing is left to chance, and no option leads into a rejecting state.
        """
        fill_key, action_key = jax.random.split(key)
        stacks = selection.fill(
            self.config, task, state.calls, stacks, states, observations, now, explores, fill_key, guided
        )
        actions, formulas = selection.choose_actions(
            self.config, self.actions, task, state.formulas, stacks, observations, explores, action_key, guided
        )
        return actions, state._replace(formulas=formulas), stacks

    def exploration(self, task: OptionTask, state: AgentState) -> Float[Array, ""]:
        """Of the formulas in use."""
        config, active = self.config, task.options.is_active
        chance = exploration(
            state.formulas.steps, config.annealing_steps, config.first_exploration, config.last_exploration
        )
        return jnp.sum(jnp.where(active, chance, 0)) / jnp.maximum(active.sum(), 1)

    # -- seeing what came of it

    def observe(
        self, task: OptionTask, state: AgentState, stacks: OptionStack, step: Step, key: PRNGKeyArray
    ) -> tuple[AgentState, OptionStack]:
        """Remembers the step, ends options and aligns the rest with what the hierarchy has done."""
        rows = Transition(
            step.before, step.action.astype(jnp.uint8), step.after, step.label, step.is_event, step.is_dead_end
        )
        ring = jnp.zeros(step.action.shape, jnp.int32)
        stacks, ended = self._ended(task, stacks, step)
        is_own = step.is_valid if step.is_guided is None else step.is_valid & ~step.is_guided
        told = jax.vmap(lambda stack, end: options.experiences(task.tables, task.options, stack, end))(
            stacks, step.after
        )
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), told)
        call_replay = replay.write(
            state.call_replay, flat, flat.machine, (ended.is_achieved & is_own[:, None]).reshape(-1)
        )
        ready = call_replay.written >= self.config.call_replay_start
        over = ended.is_over & is_own[:, None]
        calls = call_q.count_ended(state.calls, stacks, over, self.config.call_updates, ready)
        stacks = self._aligned(task, stacks, ended, step, key)
        written = replay.write(state.replay, rows, ring, step.is_valid)
        return AgentState(state.formulas, calls, written, call_replay), stacks

    def follow(self, task: OptionTask, stacks: OptionStack, step: Step, key: PRNGKeyArray) -> OptionStack:
        """Only what happens to the options: for policies that no longer learn."""
        stacks, ended = self._ended(task, stacks, step)
        return self._aligned(task, stacks, ended, step, key)

    def _ended(self, task: OptionTask, stacks: OptionStack, step: Step) -> tuple[OptionStack, options.Ended]:
        stacks = jax.vmap(options.one_step_more)(stacks)
        ended = jax.vmap(lambda *arguments: options.ended(task.options, *arguments))(
            stacks, step.from_state, step.called, step.to_state, step.label, step.is_event, step.is_over
        )
        return stacks, ended

    def _aligned(
        self, task: OptionTask, stacks: OptionStack, ended: options.Ended, step: Step, key: PRNGKeyArray
    ) -> OptionStack:
        keys = jax.random.split(key, step.action.shape[0])
        aligned = jax.vmap(lambda *arguments: options.align(task.options, *arguments))(
            stacks, ended.is_over, step.to_state, step.before, keys
        )
        return jax.vmap(options.cleared)(aligned, jnp.zeros_like(aligned.size), step.is_over)

    # -- learning

    def learn(
        self, task: OptionTask, state: AgentState, key: PRNGKeyArray, ready: Ready = True
    ) -> tuple[AgentState, Losses]:
        """As many batches for formulas as the settings say, if it is ready; and the updates owed to machines."""
        return learning.learn(self, task, state, key, ready)
