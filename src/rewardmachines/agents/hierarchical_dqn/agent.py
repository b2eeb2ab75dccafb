"""The agent that exploits a hierarchy: options at every level are chosen, run, ended and learned from.

Its functions are pure and work on batches of N environments. A driver, of compiled or of Gymnasium environments, calls
`act`, `observe` and `learn` in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents import replay
from rewardmachines.agents.double_dqn import NO_ACTION, exploration
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
    """The static part of an agent; `AgentState` has networks and replay memories, `OptionStack` the running options."""

    config: HierarchicalDqnConfig
    shape: tuple[int, ...]
    """The shape of an observation."""
    actions: int
    """The number of actions of the environment."""
    depth: int
    """The largest number of running options: the height of the hierarchy."""
    recall: Recall
    """Computes an observation from a stored moment."""

    # -- initial states

    def create(self, task: OptionTask, memory: Any, chance: Chance) -> AgentState:
        """The untrained state. `memory` is any moment as it is stored."""
        words = task.options.required.shape[1]
        nothing, no, action, label = jax.device_put(
            (np.int32(0), np.zeros((), bool), np.uint8(0), np.zeros(words, np.uint32))
        )
        paid = jnp.float32(0) if self.config.environment_reward else None
        transition = Transition(
            before=memory, action=action, after=memory, label=label, is_event=no, is_dead_end=no, reward=paid
        )
        experience = Experience(
            machine=nothing,
            state=nothing,
            context=nothing,
            output=nothing,
            steps=nothing,
            start=memory,
            end=memory,
            next_state=nothing,
            next_context=nothing,
            is_accepted=no,
            is_terminal=no,
            reward=paid,
        )
        machines, slots = task.options.callee.shape[0], task.options.is_active.shape[0]
        return AgentState(
            formulas=formula_q.create(self.config, slots, self.shape, self.actions, chance),
            calls=call_q.create(self.config, task.options, self.shape, chance),
            replay=replay.empty(transition, 1, self.config.replay_size),
            call_replay=replay.empty(experience, machines, self.config.calls.replay_size),
        )

    def begin_plans(self, task: OptionTask, states: State, now: Any, key: PRNGKeyArray) -> OptionStack:
        """Option stacks for the beginnings of episodes, after the hierarchies have processed the first labels."""
        keys = jax.random.split(key, states.machine.shape[0])
        stacks = jax.vmap(partial(options.begun, task.options, self.depth))(states, now, keys)
        if self.config.environment_reward:
            stacks = stacks._replace(reward=jnp.zeros(stacks.machine.shape, jnp.float32))
        if not self.config.persistence:
            return stacks
        return stacks._replace(held=jnp.full_like(states.machine, NO_ACTION))

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
        """An action for every environment, by its running options; where an option is missing, it is chosen first.

        In `guided` environments, actions and options are greedy, and no option leads into a rejecting state.
        """
        fill_key, action_key = jax.random.split(key)
        stacks = selection.fill(
            self.config, task, state.calls, stacks, states, observations, now, explores, fill_key, guided
        )
        actions, formulas = selection.choose_actions(
            self.config, self.actions, task, state.formulas, stacks, observations, explores, action_key, guided
        )
        if self.config.persistence:
            stacks = stacks._replace(held=actions)
        return actions, state._replace(formulas=formulas), stacks

    def exploration(self, task: OptionTask, state: AgentState) -> Float[Array, ""]:
        """The mean probability of a random action, over the formulas in use."""
        config, active = self.config, task.options.is_active
        chance = exploration(state.formulas.steps, config.exploration)
        return jnp.sum(jnp.where(active, chance, 0)) / jnp.maximum(active.sum(), 1)

    # -- observing steps

    def observe(
        self, task: OptionTask, state: AgentState, stacks: OptionStack, step: Step, key: PRNGKeyArray
    ) -> tuple[AgentState, OptionStack]:
        """Stores the step, ends options and aligns the running options with the transitions of the hierarchies."""
        rows = Transition(
            before=step.before,
            action=step.action.astype(jnp.uint8),
            after=step.after,
            label=step.label,
            is_event=step.is_event,
            is_dead_end=step.is_dead_end,
            reward=step.weighted_reward(self.config.environment_reward),
        )
        ring = jnp.zeros(step.action.shape, jnp.int32)
        stacks, ended = self._ended(task, stacks, step, rows.reward)
        is_own = step.is_valid if step.is_guided is None else step.is_valid & ~step.is_guided
        experiences = jax.vmap(lambda stack, end: options.experiences(task.tables, task.options, stack, end))(
            stacks, step.after
        )
        is_made = ended.is_achieved
        if self.config.lookahead:
            experiences, is_made = options.with_failures(experiences, stacks, ended, step)
        # Every level of every stack is a row, [N, D] as one axis; a mask keeps those that are experiences.
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), experiences)
        call_replay = replay.write(state.call_replay, flat, flat.machine, (is_made & is_own[:, None]).reshape(-1))
        ready = call_replay.written >= self.config.calls.replay_start
        if task.options.learns_calls is not None:
            ready &= task.options.learns_calls
        over = ended.is_over & is_own[:, None]
        calls = call_q.count_ended(state.calls, stacks, over, self.config.calls.updates, ready)
        stacks = self._aligned(task, stacks, ended, step, key, rows.reward)
        written = replay.write(state.replay, rows, ring, step.is_valid)
        return AgentState(formulas=state.formulas, calls=calls, replay=written, call_replay=call_replay), stacks

    def follow(self, task: OptionTask, stacks: OptionStack, step: Step, key: PRNGKeyArray) -> OptionStack:
        """The options after a step that is not stored: for policies that no longer learn."""
        stacks, ended = self._ended(task, stacks, step)
        return self._aligned(task, stacks, ended, step, key)

    def _ended(
        self, task: OptionTask, stacks: OptionStack, step: Step, paid: Float[Array, " N"] | None = None
    ) -> tuple[OptionStack, options.Ended]:
        """The stacks after one more step, and the mask of options that ended with it."""
        stacks = jax.vmap(partial(options.one_step_more, discount=self.config.calls.discount))(stacks, paid)
        ended = jax.vmap(lambda *arguments: options.ended(task.options, *arguments))(
            stacks, step.from_state, step.called, step.to_state, step.label, step.is_event, step.is_over
        )
        return stacks, ended

    def _aligned(
        self,
        task: OptionTask,
        stacks: OptionStack,
        ended: options.Ended,
        step: Step,
        key: PRNGKeyArray,
        paid: Float[Array, " N"] | None = None,
    ) -> OptionStack:
        """The stacks after a step; those of episodes that are over are cleared."""
        keys = jax.random.split(key, step.action.shape[0])
        aligned = jax.vmap(lambda *arguments: options.align(task.options, *arguments))(
            stacks, ended.is_over, step.to_state, step.before, keys, paid
        )
        return jax.vmap(options.cleared)(aligned, jnp.zeros_like(aligned.size), step.is_over)

    # -- learning

    def learn(
        self, task: OptionTask, state: AgentState, key: PRNGKeyArray, ready: Ready = True
    ) -> tuple[AgentState, Losses]:
        """Learns formulas from batches, if the replay memory is ready, and makes the due updates of machines."""
        return learning.learn(self, task, state, key, ready)
