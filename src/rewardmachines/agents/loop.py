"""The training loop: many environments act in lockstep and the agent learns, in chunks of one compiled program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents.batches import FreshInstances, draw_pairs, unless_stopped, where_rows
from rewardmachines.agents.chunk_metrics import Assignments, ChunkMetrics, count_step, nothing_counted
from rewardmachines.agents.protocol import Agent, Ready, Step, Task
from rewardmachines.envs.episodes import Episode, StepResult, advance_with_calls, begin
from rewardmachines.envs.interface import AnyEnvironment

AnyTask = TypeVar("AnyTask", bound=Task)

_EACH_SEED: Any = Assignments(*cast("Any", (None, 0)))
"""For `vmap` over seeds: all have the same roots, and each has weights of its own."""


class Crew(NamedTuple):
    """N environments with what the agent is doing in them."""

    episode: Episode
    plans: Any
    """What the agent is about to do in each environment; only the agent knows what it looks like."""
    task: Int32[Array, " N"]
    instance: Int32[Array, " N"]
    """The instance as it is counted. All fresh instances are counted as the first."""


class TrainingState(NamedTuple):
    """All that changes on the device while one seed is trained."""

    agent: Any
    """What the agent has learned and remembers; only the agent knows what it looks like."""
    crew: Crew
    key: PRNGKeyArray


class Limits(NamedTuple):
    """Where a seed stops within a chunk, and where it begins to learn. Several seeds, S of them, have limits each."""

    episodes: Int32[Array, "*S"]
    """Episodes that may end before the seed stops; with 0, it takes no step."""
    start: Int32[Array, "*S"]
    """Steps to be taken before there is enough to learn from."""


@dataclass(frozen=True)
class Trainer(Generic[AnyTask]):
    """Any agent, in any compiled environment. All methods but `begin` are pure and meant to be compiled."""

    agent: Agent[AnyTask, Any, Any]
    environment: AnyEnvironment
    max_steps: int
    """Steps after which an episode is cut off."""
    fresh: FreshInstances | None = None
    """The instances that episodes begin in, if these are not the ones that are evaluated."""

    def begin(self, task: AnyTask, assignments: Assignments, seed: int) -> TrainingState:
        """The state of a seed that has learned nothing, with all environments at the beginning of episodes."""
        crew_key, key = jax.random.split(jax.random.key(seed))
        crew = _first_crew(self, task, assignments, crew_key)
        moments = _remembered(self, crew.episode)
        memory = jax.tree.map(lambda x: np.zeros(x.shape[1:], x.dtype), moments)  # only shapes and types matter
        return TrainingState(self.agent.create(task, memory, np.random.default_rng(seed)), crew, key)

    def remembered(self, episodes: Episode) -> Any:
        """The present moments of N episodes, as the environment remembers them."""
        return jax.vmap(self.environment.remember)(episodes.state)

    def _observed(self, task: AnyTask, episodes: Episode) -> Float[Array, "N ..."]:
        return jax.vmap(partial(self.environment.observe, task.world))(episodes.state)

    def new_crew(self, task: AnyTask, assignments: Assignments, key: PRNGKeyArray) -> Crew:
        """All environments at the beginning of episodes, of tasks and instances drawn by their weights."""
        chosen, instance = draw_pairs(assignments.weight, self.agent.config.environments, key)
        begun_in = instance if self.fresh is None else self.fresh.draw(len(instance), jax.random.fold_in(key, 2))
        episodes = self._begun(task, assignments, chosen, begun_in)
        plans = self._begun_plans(task, episodes, key)
        return Crew(episode=episodes, plans=plans, task=chosen, instance=instance)

    def _begun_plans(self, task: AnyTask, episodes: Episode, key: PRNGKeyArray) -> Any:
        """Plans for the first moments of episodes. The key has drawn the episodes, so another is made of it."""
        return self.agent.begin_plans(task, episodes.task, self.remembered(episodes), jax.random.fold_in(key, 1))

    def _begun(self, task: AnyTask, assignments: Assignments, chosen: Any, instance: Any) -> Episode:
        start = partial(begin, self.environment, task.world, task.tables)
        return jax.vmap(start)(instance, assignments.root[chosen])

    # -- training

    def chunk(
        self, task: AnyTask, assignments: Assignments, state: TrainingState, ready: Ready = True
    ) -> tuple[TrainingState, ChunkMetrics]:
        """Takes `config.chunk` vector steps.

        Args:
            task: What there is to do.
            assignments: What is begun when an episode has ended.
            state: The seed before the chunk.
            ready: Whether the replay memory is full enough to learn from.

        Returns:
            The seed after the chunk, and what happened in it.
        """

        def step(state: TrainingState, _: None) -> tuple[TrainingState, ChunkMetrics]:
            return self._vector_step(task, assignments, state, ready)

        state, each = jax.lax.scan(step, state, None, length=self.agent.config.chunk)
        total = jax.tree.map(lambda x: x.sum(axis=0), each)
        return state, total._replace(losses=jax.tree.map(lambda x: x.mean(axis=0), each.losses))

    def chunk_until(
        self,
        task: AnyTask,
        assignments: Assignments,
        state: TrainingState,
        limits: Limits,
        *,
        many: bool = False,
        task_axes: Any = None,
    ) -> tuple[TrainingState, ChunkMetrics]:
        """Takes a chunk that stops with the vector step in which as many episodes have ended as may.

        Args:
            task: What there is to do.
            assignments: What is begun when an episode has ended. With several seeds, weights have a leading axis.
            state: One seed before the chunk; with a leading axis, several.
            limits: Where each seed stops, and where it begins to learn.
            many: Whether there are several seeds. The loop is outside the `vmap` then, because a loop inside would
                copy the replay memories of all seeds at every step. A seed that has stopped waits for the others:
                nothing in its state changes.
            task_axes: Which arrays of the task have a leading axis of seeds, as `vmap` expects it; none, if not given.

        Returns:
            The seeds after the chunk, and what happened in it.
        """
        step = jax.vmap(self._vector_step, in_axes=(task_axes, _EACH_SEED, 0, 0, 0)) if many else self._vector_step
        config = self.agent.config

        def goes_on(carry: tuple[TrainingState, ChunkMetrics, Int32[Array, ""]]) -> Bool[Array, ""]:
            return (carry[2] < config.chunk) & is_going(carry[1]).any()

        def is_going(total: ChunkMetrics) -> Bool[Array, "*S"]:
            return total.episodes.sum(axis=(-2, -1)) < limits.episodes

        def once(
            carry: tuple[TrainingState, ChunkMetrics, Int32[Array, ""]],
        ) -> tuple[TrainingState, ChunkMetrics, Int32[Array, ""]]:
            state, total, turn = carry
            ready = (turn + 1) * config.environments >= limits.start  # the steps that are about to be taken included
            state, metrics = step(task, assignments, state, ready, is_going(total))
            return state, jax.tree.map(jnp.add, total, metrics), turn + 1

        first = (state, nothing_counted(assignments), jnp.int32(0))
        state, total, _ = jax.lax.while_loop(goes_on, once, first)
        turns = jnp.maximum(total.turns, 1)
        return state, total._replace(losses=jax.tree.map(lambda x: x / turns, total.losses))

    def _vector_step(
        self,
        task: AnyTask,
        assignments: Assignments,
        state: TrainingState,
        ready: Ready,
        is_going: Bool[Array, ""] | None = None,
    ) -> tuple[TrainingState, ChunkMetrics]:
        """A step of every environment. If `is_going` is false, it is as if it had not been taken.

        A seed that has stopped computes the step all the same, because a program for many seeds cannot branch. So what
        the step would have changed is masked: the exploration that `act` counts, the rows that `observe` writes, the
        updates of `learn`, and in the end environments, random key and metrics.
        """
        key, act_key, observe_key, begin_key, learn_key = jax.random.split(state.key, 5)
        agent, crew = state.agent, state.crew
        observations, now = self._observed(task, crew.episode), self.remembered(crew.episode)
        actions, acted, plans = self.agent.act(
            task, agent, crew.plans, crew.episode.task, observations, now, True, act_key
        )
        agent = unless_stopped(is_going, acted, agent)
        after, result, step = self._advance(task, crew.episode, now, actions)
        if is_going is not None:
            step, ready = step._replace(is_valid=step.is_valid & is_going), is_going & ready
        agent, plans = self.agent.observe(task, agent, plans, step, observe_key)
        agent, losses = self.agent.learn(task, agent, learn_key, ready)
        metrics = count_step(assignments, crew.task, crew.instance, result, after, losses)
        # All environments draw and begin an episode, since shapes are fixed; only those whose episode is over use it.
        fresh = self.new_crew(task, assignments, begin_key)
        going_on = crew._replace(episode=after, plans=plans)
        crew = where_rows(result.done, fresh, going_on)
        crew, key = unless_stopped(is_going, (crew, key), (state.crew, state.key))
        if is_going is not None:
            metrics = jax.tree.map(lambda x: jnp.where(is_going, x, 0), metrics)
        return TrainingState(agent, crew, key), metrics

    def _advance(self, task: AnyTask, episodes: Episode, now: Any, actions: Any) -> tuple[Episode, StepResult, Step]:
        """One action in each environment: the episodes after it, its results, and the step that the agent is told."""
        move = partial(advance_with_calls, self.environment, task.world, task.tables, max_steps=self.max_steps)
        after, result, called = jax.vmap(move)(episodes, actions)
        step = Step(
            before=now,
            action=actions,
            after=self.remembered(after),
            label=result.label,
            is_event=result.is_event,
            from_state=episodes.task,
            called=called,
            to_state=after.task,
            is_over=result.done,
            is_dead_end=result.terminated & ~result.goal,
            is_valid=jnp.ones(actions.shape, bool),
        )
        return after, result, step

    # -- evaluation

    def evaluate(
        self, task: AnyTask, root: Int32[Array, " N"], instance: Int32[Array, " N"], agent: Any, key: PRNGKeyArray
    ) -> tuple[Float[Array, " N"], Int32[Array, " N"]]:
        """Plays one greedy episode for each of N pairs of a task and an instance.

        All run side by side, until the last has ended or has taken as many steps as an evaluation may.

        Args:
            task: What there is to do.
            root: The root machine of the task of each episode.
            instance: The instance of each episode.
            agent: What the agent has learned.
            key: For what is left to chance where no option can be chosen.

        Returns:
            The return of each episode, and the steps that it took.
        """
        start = partial(begin, self.environment, task.world, task.tables)
        episodes = jax.vmap(start)(instance, root)
        plans = self._begun_plans(task, episodes, key)
        nobody = jnp.zeros(root.shape, bool)
        longest = self.agent.config.evaluate_steps or self.max_steps

        def goes_on(carry: Any) -> Any:
            return ~carry[2].all()

        def step(carry: tuple[Episode, Any, Any, Any, Any]) -> tuple[Episode, Any, Any, Any, Any]:
            episodes, plans, is_done, returned, key = carry
            key, *keys = jax.random.split(key, 3)
            after, plans, result = self._greedy_step(task, agent, episodes, plans, keys)
            after = where_rows(is_done, episodes, after)  # an episode that is over stays, so that its steps are right
            returned = returned + jnp.where(is_done, 0, result.reward)
            return after, plans, is_done | result.done | (after.steps >= longest), returned, key

        done = jax.lax.while_loop(goes_on, step, (episodes, plans, nobody, jnp.zeros(root.shape), key))
        return done[3], done[0].steps

    def _greedy_step(
        self, task: AnyTask, agent: Any, episodes: Episode, plans: Any, keys: Any
    ) -> tuple[Episode, Any, StepResult]:
        observations, now = self._observed(task, episodes), self.remembered(episodes)
        actions, _, plans = self.agent.act(task, agent, plans, episodes.task, observations, now, False, keys[0])
        after, result, taken = self._advance(task, episodes, now, actions)
        return after, self.agent.follow(task, plans, taken, keys[1]), result


@partial(jax.jit, static_argnums=0)  # equal trainers share what is compiled
def _first_crew(trainer: Trainer[AnyTask], task: AnyTask, assignments: Assignments, key: PRNGKeyArray) -> Crew:
    return trainer.new_crew(task, assignments, key)


@partial(jax.jit, static_argnums=0)
def _remembered(trainer: Trainer[Any], episodes: Episode) -> Any:
    return trainer.remembered(episodes)
