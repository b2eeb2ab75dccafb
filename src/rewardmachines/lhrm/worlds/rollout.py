"""Environments, their true hierarchies and the agent in pure functions, which are compiled as one program.

The *truth*, the environment's own hierarchy, decides how an episode ends. The agent sees only labels and ends.
Arrays have a row for each of N environments. `T` counts tasks, `I` instances.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.batches import FreshInstances, draw_pairs, unless_stopped, where_rows
from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.agents.protocol import Losses, Ready
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.lhrm.crew import INCOMPLETE, NOTHING, Crew, Endings, Knowledge, StepResult
from rewardmachines.lhrm.interaction import Stepper
from rewardmachines.lhrm.worlds.protocol import Counts, RunState
from rewardmachines.lowered import State, Tables, initial_state, move_on_event, verdict
from rewardmachines.lowered import step as hierarchy_step


class Truth(NamedTuple):
    """The environment's own hierarchies: one pool of machines, and the root of each of T tasks."""

    tables: Tables
    root: Int32[Array, " T"]


class EnvironmentStates(NamedTuple):
    """What only N environments know, and the agent does not."""

    state: Any
    truth: State
    """Where the true hierarchies stand."""
    steps: Int32[Array, " N"]
    """Steps since the episodes began."""


_Runs = tuple[Int32[Array, ""], Int32[Array, " S"], RunState, Counts]
"""Within a chunk of S runs: turns of the loop, vector steps of each run, their states, and what was counted so far."""
Both = tuple[Crew, EnvironmentStates]
"""The agent's half and the environments' half of N environments."""


@dataclass(frozen=True)
class Rollout:
    """Environments and agent together. All methods are pure; equal rollouts share their compiled programs."""

    stepper: Stepper
    environment: AnyEnvironment
    max_steps: int
    fresh: FreshInstances | None = None
    """The instances that episodes begin in, if these are not the ones that are evaluated."""

    # -- beginnings

    def begin(self, knowledge: Knowledge, truth: Truth, key: PRNGKeyArray) -> Both:
        """Begins an episode in every environment, of tasks and instances that are drawn."""
        task, instance = draw_pairs(knowledge.chances, self.stepper.agent.config.environments, key)
        if self.fresh is not None:
            instance = self.fresh.draw(len(instance), jax.random.fold_in(key, 2))
        return self._begin_pairs(knowledge, truth, task, instance, jax.random.fold_in(key, 1))

    def restart(
        self, knowledge: Knowledge, truth: Truth, now: Both, which: Bool[Array, " N"], key: PRNGKeyArray
    ) -> Both:
        """Begins new episodes in the selected environments.

        A compiled program cannot begin only some of them: every environment gets a beginning, and the mask says which
        of them keep it.
        """
        restarted: Both = where_rows(which, self.begin(knowledge, truth, key), now)
        return restarted

    def _begin_pairs(
        self,
        knowledge: Knowledge,
        truth: Truth,
        task: Int32[Array, " N"],
        instance: Int32[Array, " N"],
        key: PRNGKeyArray,
    ) -> Both:
        state = jax.vmap(partial(self.environment.reset, knowledge.world))(instance)
        label = jax.vmap(partial(self.environment.label, knowledge.world))(state)
        # The first label is an event: it is fed, although there was none before that it could differ from.
        true = jax.vmap(lambda root, first: hierarchy_step(truth.tables, initial_state(truth.tables, root), first))(
            truth.root[task], label
        )
        environments = EnvironmentStates(state, true, jnp.zeros(task.shape, jnp.int32))
        result = self._result(truth, environments, label)
        return self.stepper.begin(knowledge, task, instance, result, key), environments

    # -- steps

    def _result(self, truth: Truth, environments: EnvironmentStates, label: UInt32[Array, "N W"]) -> StepResult:
        """What the agent gets to see: the label, and the verdict of the truth as the end of the episode."""
        return StepResult(
            memory=jax.vmap(self.environment.remember)(environments.state),
            label=label,
            end=jax.vmap(partial(verdict, truth.tables))(environments.truth),
            is_cut=environments.steps >= self.max_steps,
        )

    def _stepped(
        self,
        knowledge: Knowledge,
        truth: Truth,
        environments: EnvironmentStates,
        before: UInt32[Array, "N W"],
        actions: Int32[Array, " N"],
    ) -> tuple[EnvironmentStates, StepResult]:
        """Steps all environments; `before` are the labels before the step.

        Those that wait are stepped as well, since all rows are computed anyway. The crew ignores what comes of it, and
        they begin new episodes before they go on.
        """
        state = jax.vmap(partial(self.environment.step, knowledge.world))(environments.state, actions)
        label = jax.vmap(partial(self.environment.label, knowledge.world))(state)
        moved = jax.vmap(partial(move_on_event, truth.tables))(environments.truth, before, label)
        after = EnvironmentStates(state, moved.after, environments.steps + 1)
        return after, self._result(truth, after, label)

    def chunk(
        self, knowledge: Knowledge, truth: Truth, state: RunState, ready: Ready, most: Int32[Array, ""]
    ) -> tuple[RunState, Counts]:
        """Makes vector steps until there were enough of them, or of ended episodes, or all environments wait."""

        def goes_on(carry: tuple[Int32[Array, ""], RunState, Counts]) -> Bool[Array, ""]:
            number, state, so_far = carry
            everybody_waits = (state.crew.waiting != NOTHING).all()
            return (number < self.stepper.agent.config.chunk) & ~everybody_waits & (so_far.episodes.sum() < most)

        def step(carry: tuple[Int32[Array, ""], RunState, Counts]) -> tuple[Int32[Array, ""], RunState, Counts]:
            number, state, so_far = carry
            state, counts = self.vector_step(knowledge, truth, state, ready)
            return number + 1, state, jax.tree.map(jnp.add, so_far, counts)

        none, zero, nothing = jnp.zeros(knowledge.root.shape, jnp.int32), jnp.int32(0), jnp.float32(0)
        start = (zero, state, Counts(none, none, zero, Losses(nothing, nothing)))
        number, state, total = jax.lax.while_loop(goes_on, step, start)
        return state, total._replace(losses=jax.tree.map(lambda x: x / jnp.maximum(number, 1), total.losses))

    def chunk_of_many(
        self,
        knowledge: Knowledge,
        truth: Truth,
        state: RunState,
        ready: Bool[Array, " S"],
        most: Int32[Array, " S"],
    ) -> tuple[RunState, Counts]:
        """Makes a chunk of S runs side by side, each of which does what it would do alone.

        The loop is outside the `vmap`, because a loop inside would copy the replay memories of all runs at every step.
        A run whose chunk is over waits for the others: nothing in its state changes.

        Args:
            knowledge: That of all runs, along a leading axis.
            truth: The true hierarchies, which are those of all runs.
            state: The states of all runs, along a leading axis.
            ready: Whether the Q-functions of formulas learn, for each run.
            most: The number of ended episodes with which the chunk of each run ends; a run with 0 takes no step.
        """
        step = jax.vmap(self.vector_step, in_axes=(0, None, 0, 0, 0))

        def is_going(state: RunState, so_far: Counts) -> Bool[Array, " S"]:
            everybody_waits = (state.crew.waiting != NOTHING).all(axis=-1)
            return ~everybody_waits & (so_far.episodes.sum(axis=-1) < most)

        def goes_on(carry: _Runs) -> Bool[Array, ""]:
            turn, _, state, so_far = carry
            return (turn < self.stepper.agent.config.chunk) & is_going(state, so_far).any()

        def once(carry: _Runs) -> _Runs:
            turn, number, state, so_far = carry
            goes = is_going(state, so_far)
            state, counts = step(knowledge, truth, state, ready, goes)
            return turn + 1, number + goes, state, jax.tree.map(jnp.add, so_far, counts)

        none, zero = jnp.zeros(knowledge.root.shape, jnp.int32), jnp.zeros(most.shape, jnp.int32)
        nothing = jnp.zeros(most.shape, jnp.float32)
        start = (jnp.int32(0), zero, state, Counts(none, none, zero, Losses(nothing, nothing)))
        _, number, state, total = jax.lax.while_loop(goes_on, once, start)
        return state, total._replace(losses=jax.tree.map(lambda x: x / jnp.maximum(number, 1), total.losses))

    def vector_step(
        self,
        knowledge: Knowledge,
        truth: Truth,
        state: RunState,
        ready: Ready,
        is_going: Bool[Array, ""] | None = None,
    ) -> tuple[RunState, Counts]:
        """Makes one step in all environments that do not wait: act, remember, learn, and begin new episodes.

        If `is_going` is false, it is as if the step had not been made. A program for many runs cannot branch: such a
        run computes the step with environments that all wait, so that its agent neither remembers nor learns, and its
        environments and its random key are restored afterwards.
        """
        crew = state.crew
        if is_going is not None:
            crew = crew._replace(waiting=jnp.where(is_going, crew.waiting, INCOMPLETE))
        # New episodes come last: what is remembered and learned must not mix two episodes.
        key, explore_key, observe_key, begin_key, learn_key = jax.random.split(state.key, 5)
        actions, agent, crew = self.stepper.explore(knowledge, state.agent, crew, explore_key)
        environments, result = self._stepped(knowledge, truth, state.environments, crew.label, actions)
        agent, after, endings = self.stepper.observe(knowledge, agent, crew, actions, result, observe_key)
        is_due, unlearned = learning_due(state.unlearned, endings.is_live)
        agent, losses = self.stepper.agent.learn(knowledge.task, agent, learn_key, is_due & ready)
        after, environments = self.restart(knowledge, truth, (after, environments), endings.is_over, begin_key)
        after, environments, key = unless_stopped(
            is_going, (after, environments, key), (state.crew, state.environments, state.key)
        )
        return RunState(agent, after, environments, unlearned, key), counted(knowledge, crew, endings, losses)

    # -- evaluation

    def evaluate(
        self,
        knowledge: Knowledge,
        truth: Truth,
        agent: AgentState,
        task: Int32[Array, " N"],
        instance: Int32[Array, " N"],
        wanted: Bool[Array, " N"],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " N"], Int32[Array, " N"]]:
        """The return and the length of a greedy episode of each wanted pair of a task and an instance.

        The loop goes on until the last episode is done. Episodes that are done before keep their state meanwhile.
        """
        crew, environments = self._begin_pairs(knowledge, truth, task, instance, jax.random.fold_in(key, 1))
        longest = self.stepper.agent.config.evaluate_steps or self.max_steps

        def goes_on(carry: Any) -> Any:
            return ~carry[2].all()

        def step(carry: tuple[Crew, EnvironmentStates, Any, Any, Any]) -> tuple[Crew, EnvironmentStates, Any, Any, Any]:
            crew, environments, is_done, returned, key = carry
            key, act_key, follow_key = jax.random.split(key, 3)
            actions, acted = self.stepper.exploit(knowledge, agent, crew, act_key)
            moved, result = self._stepped(knowledge, truth, environments, crew.label, actions)
            after, is_over, won = self.stepper.follow(knowledge, acted, actions, result, follow_key)
            kept = where_rows(is_done, (crew, environments), (after, moved))
            return *kept, is_done | is_over | (moved.steps >= longest), returned + (won & ~is_done), key

        is_left_out = ~wanted | ~knowledge.is_learned[task]  # done before the first step, with a return of 0
        start = (crew, environments, is_left_out, jnp.zeros(task.shape), key)
        _, environments, _, returned, _ = jax.lax.while_loop(goes_on, step, start)
        return returned, environments.steps


def learning_due(
    unlearned: Int32[Array, ""], is_live: Bool[Array, " N"]
) -> tuple[Bool[Array, ""], Int32[Array, ""]]:  # fmt: skip
    """Whether there was a step for every environment since the last round of learning.

    Environments that wait make no steps. Were there a round of learning after every vector step all the same, there
    would be more updates for each step than the settings say.

    Args:
        unlearned: Steps since the last round, before this vector step.
        is_live: The environments that make a step in this vector step.

    Returns:
        Whether a round of learning is due, and the steps that the one after it has already.
    """
    steps = unlearned + is_live.sum(dtype=jnp.int32)
    is_due = steps >= is_live.shape[0]
    return is_due, jnp.where(is_due, steps - is_live.shape[0], steps)


def counted(knowledge: Knowledge, crew: Crew, endings: Endings, losses: Losses) -> Counts:
    """What a vector step adds to the counts of a chunk. `crew` is the one before it, on its old tasks."""
    nothing = jnp.zeros(knowledge.root.shape, jnp.int32)
    return Counts(
        episodes=nothing.at[crew.task].add(endings.is_ended.astype(jnp.int32)),
        goals=nothing.at[crew.task].add(endings.is_goal.astype(jnp.int32)),
        steps=endings.is_live.sum(dtype=jnp.int32),
        losses=losses,
    )
