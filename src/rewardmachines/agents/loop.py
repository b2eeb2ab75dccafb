"""The loop: many environments act in lockstep and the agent learns, in chunks of one compiled program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents.protocol import Agent, Losses, Ready, Step, Task
from rewardmachines.envs.episodes import Episode, Outcome, advance_with_calls, begin
from rewardmachines.envs.interface import AnyEnvironment

AnyTask = TypeVar("AnyTask", bound=Task)


class Assignments(NamedTuple):
    """Which tasks and instances are begun: their roots, and how likely each pair is."""

    root: Int32[Array, " T"]
    weight: Float[Array, "T I"]


_EACH_SEED: Any = Assignments(*cast("Any", (None, 0)))
"""Axes of seeds: they all have the same roots, and weights of their own."""


class Crew(NamedTuple):
    """N environments and what is going on in them."""

    episode: Episode
    plans: Any
    task: Int32[Array, " N"]
    instance: Int32[Array, " N"]


class TrainingState(NamedTuple):
    agent: Any
    crew: Crew
    key: PRNGKeyArray


class ChunkMetrics(NamedTuple):
    """What happened in a chunk, by task and instance."""

    episodes: Int32[Array, "T I"]
    goals: Int32[Array, "T I"]
    dead_ends: Int32[Array, "T I"]
    steps: Int32[Array, "T I"]
    """Of the episodes that ended."""
    losses: Losses
    """The mean over the vector steps."""
    turns: Int32[Array, ""]
    """Vector steps that were taken."""


class Limits(NamedTuple):
    """Where a seed stops within a chunk, and where it begins to learn. With several seeds, for each of them."""

    episodes: Int32[Array, "*S"]
    """How many may end before it stops; with 0, nothing happens."""
    start: Int32[Array, "*S"]
    """Steps to be taken before there is enough to learn from."""


@dataclass(frozen=True)
class Trainer(Generic[AnyTask]):
    """Any agent, in any compiled environment. All methods are pure."""

    agent: Agent[AnyTask, Any, Any]
    environment: AnyEnvironment
    max_steps: int

    def begin(self, task: AnyTask, assignments: Assignments, seed: int) -> TrainingState:
        """Nothing learned, everybody at the beginning."""
        crew_key, key = jax.random.split(jax.random.key(seed))
        crew = jax.jit(self.new_crew)(task, assignments, crew_key)
        memory = jax.tree.map(lambda x: x[0], jax.jit(self._remembered)(crew.episode))
        return TrainingState(self.agent.create(task, memory, np.random.default_rng(seed)), crew, key)

    def _remembered(self, episodes: Episode) -> Any:
        return jax.vmap(self.environment.remember)(episodes.state)

    def _observed(self, task: AnyTask, episodes: Episode) -> Float[Array, "N ..."]:
        return jax.vmap(partial(self.environment.observe, task.world))(episodes.state)

    def new_crew(self, task: AnyTask, assignments: Assignments, key: PRNGKeyArray) -> Crew:
        """Everybody at the beginning of an episode."""
        chosen, instance = draw_pairs(assignments.weight, self.agent.config.environments, key)
        episodes = self._begun(task, assignments, chosen, instance)
        return Crew(episodes, self._begun_plans(task, episodes, key), chosen, instance)

    def _begun_plans(self, task: AnyTask, episodes: Episode, key: PRNGKeyArray) -> Any:
        """The key may have been used to draw episodes: another is made of it."""
        return self.agent.begin_plans(task, episodes.task, self._remembered(episodes), jax.random.fold_in(key, 1))

    def _begun(self, task: AnyTask, assignments: Assignments, chosen: Any, instance: Any) -> Episode:
        start = partial(begin, self.environment, task.world, task.tables)
        return jax.vmap(start)(instance, assignments.root[chosen])

    # -- training

    def chunk(
        self, task: AnyTask, assignments: Assignments, state: TrainingState, ready: Ready = True
    ) -> tuple[TrainingState, ChunkMetrics]:
        """So many vector steps; it is not ready to learn while the replay memory is still too empty."""

        def step(state: TrainingState, _: None) -> tuple[TrainingState, ChunkMetrics]:
            return self._vector_step(task, assignments, state, ready)

        state, each = jax.lax.scan(step, state, None, length=self.agent.config.chunk)
        total = jax.tree.map(lambda x: x.sum(axis=0), each)
        return state, total._replace(losses=jax.tree.map(lambda x: x.mean(axis=0), each.losses))

    def chunk_until(
        self, task: AnyTask, assignments: Assignments, state: TrainingState, limits: Limits, *, many: bool = False
    ) -> tuple[TrainingState, ChunkMetrics]:
        """A chunk that stops with the vector step in which as many episodes have ended as may.

        Args:
            task: What there is to do.
            assignments: What is begun. With several seeds, their weights have a leading axis.
            state: Of one seed; of several, with a leading axis.
            limits: Where each seed stops, and where it begins to learn.
            many: Whether there are several seeds. The loop is outside the `vmap` then, because a loop inside would
                copy the replay memories of all seeds at every step. A seed that has stopped waits for the others:
                nothing in its state changes.
        """
        step = jax.vmap(self._vector_step, in_axes=(None, _EACH_SEED, 0, 0, 0)) if many else self._vector_step
        config = self.agent.config

        def goes_on(carry: tuple[TrainingState, ChunkMetrics, Int32[Array, ""]]) -> Bool[Array, ""]:
            return (carry[2] < config.chunk) & is_going(carry[1]).any()

        def is_going(total: ChunkMetrics) -> Bool[Array, "*S"]:
            return total.episodes.sum(axis=(-2, -1)) < limits.episodes

        def once(
            carry: tuple[TrainingState, ChunkMetrics, Int32[Array, ""]],
        ) -> tuple[TrainingState, ChunkMetrics, Int32[Array, ""]]:
            state, total, turn = carry
            ready = (turn + 1) * config.environments >= limits.start  # this step included
            state, metrics = step(task, assignments, state, ready, is_going(total))
            return state, jax.tree.map(jnp.add, total, metrics), turn + 1

        first = (state, _nothing_counted(assignments), jnp.int32(0))
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
        """A step of every environment. If `is_going` is false, it is as if it had not been taken."""
        key, act_key, observe_key, begin_key, learn_key = jax.random.split(state.key, 5)
        agent, crew = state.agent, state.crew
        observations, now = self._observed(task, crew.episode), self._remembered(crew.episode)
        actions, acted, plans = self.agent.act(
            task, agent, crew.plans, crew.episode.task, observations, now, True, act_key
        )
        agent = _changed(is_going, acted, agent)
        after, outcome, step = self._advance(task, crew.episode, now, actions)
        if is_going is not None:  # what did not happen is neither remembered nor learned from
            step, ready = step._replace(is_valid=step.is_valid & is_going), is_going & ready
        agent, plans = self.agent.observe(task, agent, plans, step, observe_key)
        agent, losses = self.agent.learn(task, agent, learn_key, ready)
        metrics = _count(assignments, crew, outcome, after, losses)
        chosen, instance = draw_pairs(assignments.weight, len(actions), begin_key)
        fresh = self._begun(task, assignments, chosen, instance)
        crew = Crew(
            where_rows(outcome.done, fresh, after),
            where_rows(outcome.done, self._begun_plans(task, fresh, begin_key), plans),
            jnp.where(outcome.done, chosen, crew.task),
            jnp.where(outcome.done, instance, crew.instance),
        )
        crew, key = _changed(is_going, (crew, key), (state.crew, state.key))
        if is_going is not None:
            metrics = jax.tree.map(lambda x: jnp.where(is_going, x, 0), metrics)
        return TrainingState(agent, crew, key), metrics

    def _advance(self, task: AnyTask, episodes: Episode, now: Any, actions: Any) -> tuple[Episode, Outcome, Step]:
        move = partial(advance_with_calls, self.environment, task.world, task.tables, max_steps=self.max_steps)
        after, outcome, called = jax.vmap(move)(episodes, actions)
        step = Step(
            now,
            actions,
            self._remembered(after),
            outcome.label,
            outcome.is_event,
            episodes.task,
            called,
            after.task,
            outcome.done,
            outcome.terminated & ~outcome.goal,
            jnp.ones(actions.shape, bool),
        )
        return after, outcome, step

    # -- evaluation

    def evaluate(
        self, task: AnyTask, root: Int32[Array, " N"], instance: Int32[Array, " N"], agent: Any, key: PRNGKeyArray
    ) -> tuple[Float[Array, " N"], Int32[Array, " N"]]:
        """One greedy episode for each pair: what was returned, and how many steps it took."""
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
            after, plans, outcome = self._greedy_step(task, agent, episodes, plans, keys)
            after = where_rows(is_done, episodes, after)
            returned = returned + jnp.where(is_done, 0, outcome.reward)
            return after, plans, is_done | outcome.done | (after.steps >= longest), returned, key

        done = jax.lax.while_loop(goes_on, step, (episodes, plans, nobody, jnp.zeros(root.shape), key))
        return done[3], done[0].steps

    def _greedy_step(
        self, task: AnyTask, agent: Any, episodes: Episode, plans: Any, keys: Any
    ) -> tuple[Episode, Any, Outcome]:
        observations, now = self._observed(task, episodes), self._remembered(episodes)
        actions, _, plans = self.agent.act(task, agent, plans, episodes.task, observations, now, False, keys[0])
        after, outcome, what = self._advance(task, episodes, now, actions)
        return after, self.agent.follow(task, plans, what, keys[1]), outcome


def draw_pairs(
    weight: Float[Array, "T I"], count: int, key: PRNGKeyArray
) -> tuple[Int32[Array, " N"], Int32[Array, " N"]]:
    """A task and an instance for each, as likely as their weight says."""
    chosen = jax.random.categorical(key, jnp.log(weight.reshape(-1)), shape=(count,))
    return (chosen // weight.shape[1]).astype(jnp.int32), (chosen % weight.shape[1]).astype(jnp.int32)


def where_rows(mask: Bool[Array, " N"], one: Any, other: Any) -> Any:
    """The rows of one batch where the mask says so, of the other elsewhere."""
    return jax.tree.map(lambda a, b: jnp.where(mask.reshape(-1, *[1] * (a.ndim - 1)), a, b), one, other)


def _count(assignments: Assignments, crew: Crew, outcome: Outcome, after: Episode, losses: Losses) -> ChunkMetrics:
    at = (crew.task, crew.instance)
    nothing = jnp.zeros(assignments.weight.shape, jnp.int32)

    def tally(what: Array) -> Int32[Array, "T I"]:
        return nothing.at[at].add(what.astype(jnp.int32))

    done = outcome.done
    dead_ends = outcome.terminated & ~outcome.goal
    return ChunkMetrics(
        tally(done),
        tally(outcome.goal),
        tally(dead_ends),
        tally(jnp.where(done, after.steps, 0)),
        losses,
        jnp.int32(1),
    )


def _nothing_counted(assignments: Assignments) -> ChunkMetrics:
    """What a chunk has brought before its first step, of one seed or of several."""
    weight = assignments.weight
    none, nothing = jnp.zeros(weight.shape, jnp.int32), jnp.zeros(weight.shape[:-2])
    return ChunkMetrics(none, none, none, none, Losses(nothing, nothing), nothing.astype(jnp.int32))


def _changed(is_going: Bool[Array, ""] | None, new: Any, old: Any) -> Any:
    """What is new, if it goes on. Arrays that are not new are left alone: replay memories are large."""
    if is_going is None:
        return new
    return jax.tree.map(lambda a, b: a if a is b else jnp.where(is_going, a, b), new, old)
