"""What happens in the environments while machines are still being learned, as one compiled program.

The environment's own hierarchy, the *truth*, decides what is returned and when an episode ends; the agent sees only
labels and ends. Its *belief* is where the learned hierarchy stands. Where that knows nothing to do, the agent explores:
it acts at random for a step, or follows a *guide*, a machine that is mastered, until it is done. An environment whose
trace is to be learned from waits until it has been taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.hierarchical import AgentState, HierarchicalAgent
from rewardmachines.agents.interface import Losses, Step, Task
from rewardmachines.agents.options import TRUE_CONTEXT, OptionStack
from rewardmachines.agents.training import draw_pairs, where_rows
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.lowered import State, Tables, initial_state, moves, verdict
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT

NOTHING, GOAL, DEAD_END, INCOMPLETE = 0, 1, 2, 3
"""What a trace that waits to be taken is an example of."""


class Knowledge(NamedTuple):
    """What is true, believed and to be done, as arrays of fixed shape: T tasks, I instances, G guides."""

    world: Any
    truth: Tables
    true_root: Int32[Array, " T"]
    tables: Tables
    options: Any
    root: Int32[Array, " T"]
    is_learned: Bool[Array, " T"]
    """Whether there is a machine that could be wrong."""
    guide: Int32[Array, " G"]
    is_guide: Bool[Array, " G"]
    chances: Float[Array, "T I"]

    @property
    def task(self) -> Task:
        return Task(self.world, self.tables, self.options)


class Workers(NamedTuple):
    """N environments, and what is going on in them."""

    state: Any
    task: Int32[Array, " N"]
    instance: Int32[Array, " N"]
    steps: Int32[Array, " N"]
    label: UInt32[Array, "N W"]
    truth: State
    belief: State
    guide: State
    is_guided: Bool[Array, " N"]
    stacks: OptionStack
    trace: UInt32[Array, "N L W"]
    length: Int32[Array, " N"]
    waiting: Int32[Array, " N"]
    """What the trace is an example of; NOTHING while the episode goes on."""


class LearnerState(NamedTuple):
    agent: AgentState
    workers: Workers
    key: PRNGKeyArray


class Counts(NamedTuple):
    """Of a chunk, by task."""

    episodes: Int32[Array, " T"]
    goals: Int32[Array, " T"]
    losses: Losses


@dataclass(frozen=True)
class Stepper:
    """Static settings; all methods are pure."""

    agent: HierarchicalAgent
    environment: AnyEnvironment
    max_steps: int

    # -- beginnings

    def begin(self, knowledge: Knowledge, key: PRNGKeyArray) -> Workers:
        """Everybody at the beginning of an episode."""
        task, instance = draw_pairs(knowledge.chances, self.agent.config.environments, key)
        return self._begun(knowledge, task, instance)

    def restart(self, knowledge: Knowledge, workers: Workers, which: Bool[Array, " N"], key: PRNGKeyArray) -> Workers:
        """New episodes where it is said."""
        restarted: Workers = where_rows(which, self.begin(knowledge, key), workers)
        return restarted

    def _begun(self, knowledge: Knowledge, task: Int32[Array, " N"], instance: Int32[Array, " N"]) -> Workers:
        state = jax.vmap(partial(self.environment.reset, knowledge.world))(instance)
        label = jax.vmap(partial(self.environment.label, knowledge.world))(state)
        truth = _fed(knowledge.truth, knowledge.true_root[task], label)
        belief = _fed(knowledge.tables, knowledge.root[task], label)
        memory = jax.vmap(self.environment.remember)(state)
        nothing, no = jnp.zeros(task.shape, jnp.int32), jnp.zeros(task.shape, bool)
        trace = jnp.zeros((*task.shape, self.max_steps + 1, label.shape[1]), jnp.uint32).at[:, 0].set(label)
        said = jax.vmap(partial(verdict, knowledge.tables))(belief)
        wrong = knowledge.is_learned[task] & (said != NEITHER)
        return Workers(
            state, task, instance, nothing, label, truth, belief, belief, no, self.agent.empty_plans(memory), trace,
            nothing + 1, jnp.where(wrong, INCOMPLETE, NOTHING),
        )  # fmt: skip

    # -- a chunk

    def chunk(self, knowledge: Knowledge, state: LearnerState, *, learns: bool) -> tuple[LearnerState, Counts]:
        def step(state: LearnerState, _: None) -> tuple[LearnerState, Counts]:
            return self._vector_step(knowledge, state, learns=learns)

        state, each = jax.lax.scan(step, state, None, length=self.agent.config.chunk)
        total = jax.tree.map(lambda x: x.sum(axis=0), each)
        return state, total._replace(losses=jax.tree.map(lambda x: x.mean(axis=0), each.losses))

    def _vector_step(self, knowledge: Knowledge, state: LearnerState, *, learns: bool) -> tuple[LearnerState, Counts]:
        key, guide_key, act_key, observe_key, begin_key, learn_key = jax.random.split(state.key, 6)
        agent = state.agent
        workers = self._guided(knowledge, state.workers, guide_key)
        observations = jax.vmap(partial(self.environment.observe, knowledge.world))(workers.state)
        now = jax.vmap(self.environment.remember)(workers.state)
        followed = where_rows(workers.is_guided, workers.guide, workers.belief)
        actions, agent, stacks = self.agent.act(
            knowledge.task, agent, workers.stacks, followed, observations, now, True, act_key, workers.is_guided
        )
        after, step = self._advance(knowledge, workers._replace(stacks=stacks), followed, now, actions)
        agent, stacks = self.agent.observe(knowledge.task, agent, stacks, step, observe_key)
        losses = Losses(jnp.float32(0), jnp.float32(0))
        if learns:
            agent, losses = self.agent.learn(knowledge.task, agent, learn_key)
        after = after._replace(stacks=stacks)
        is_live = workers.waiting == NOTHING
        ended = is_live & step.is_over & (after.waiting == NOTHING) & ~_goes_on(knowledge, after, self.max_steps)
        counts = _count(knowledge, workers, is_live & ~_goes_on(knowledge, after, self.max_steps), after)
        workers = where_rows(ended, self.begin(knowledge, begin_key), where_rows(is_live, after, workers))
        return LearnerState(agent, workers, key), Counts(*counts, losses)

    def _guided(self, knowledge: Knowledge, workers: Workers, key: PRNGKeyArray) -> Workers:
        """Where nothing is known to be done: an action at random, or somebody to follow."""
        belief = workers.belief
        known = knowledge.options.allowed[belief.machine, belief.state, TRUE_CONTEXT].any(axis=-1)
        is_lost = ~known & ~workers.is_guided & (workers.waiting == NOTHING)
        begun = jax.vmap(partial(initial_state, knowledge.tables))(knowledge.guide)

        def can_follow(label: UInt32[Array, " W"]) -> Bool[Array, " G"]:
            """Not those who would be done before they have begun."""
            fed = jax.vmap(lambda one: moves(knowledge.tables, one, label)[1])(begun)
            return knowledge.is_guide & (jax.vmap(partial(verdict, knowledge.tables))(fed) == NEITHER)

        can = jax.vmap(can_follow)(workers.label)  # [N, G]
        actions = jnp.full((len(can), self.agent.actions), 0.0)
        weight = jnp.concatenate([actions, jnp.where(can, 0.0, -jnp.inf)], axis=1)
        chosen = jax.random.categorical(key, weight, axis=-1) - self.agent.actions
        follows = is_lost & (chosen >= 0)
        guide = jax.tree.map(lambda x: x[jnp.maximum(chosen, 0)], begun)
        return workers._replace(guide=where_rows(follows, guide, workers.guide), is_guided=workers.is_guided | follows)

    def _advance(
        self, knowledge: Knowledge, workers: Workers, followed: State, now: Any, actions: Int32[Array, " N"]
    ) -> tuple[Workers, Step]:
        state = jax.vmap(partial(self.environment.step, knowledge.world))(workers.state, actions)
        label = jax.vmap(partial(self.environment.label, knowledge.world))(state)
        is_event = jnp.any(label != workers.label, axis=-1)
        _, truth = _moved(knowledge.truth, workers.truth, label, is_event)
        _, belief = _moved(knowledge.tables, workers.belief, label, is_event)
        called, following = _moved(knowledge.tables, followed, label, is_event)
        steps = workers.steps + 1
        said, true = (
            jax.vmap(partial(verdict, tables))(one)
            for tables, one in ((knowledge.tables, belief), (knowledge.truth, truth))
        )
        example = _example(knowledge.is_learned[workers.task], said, true)
        is_live = workers.waiting == NOTHING
        guide_over = workers.is_guided & (jax.vmap(partial(verdict, knowledge.tables))(following) != NEITHER)
        is_over = (true != NEITHER) | (steps >= self.max_steps) | (example != NOTHING)
        length = jnp.where(is_event, workers.length + 1, workers.length)
        place = jnp.where(is_event, workers.length, self.max_steps + 1)
        trace = workers.trace.at[jnp.arange(len(place)), place].set(label, mode="drop")
        after = workers._replace(
            state=state, steps=steps, label=label, truth=truth, belief=belief,
            guide=where_rows(workers.is_guided, following, workers.guide),
            is_guided=workers.is_guided & ~guide_over & ~is_over, trace=trace, length=length, waiting=example,
        )  # fmt: skip
        step = Step(
            now, actions, jax.vmap(self.environment.remember)(state), label, is_event, followed, called, following,
            is_over | guide_over | ~is_live, true == REJECT, is_live, workers.is_guided,
        )  # fmt: skip
        return after, step

    # -- evaluation

    def evaluate(
        self, knowledge: Knowledge, agent: AgentState, task: Any, instance: Any, wanted: Any, key: PRNGKeyArray
    ) -> Float[Array, " N"]:
        """The return of a greedy episode of each pair that is wanted. A mistake of the machine ends it."""
        workers = self._begun(knowledge, task, instance)

        def goes_on(carry: tuple[Workers, Bool[Array, " N"], Any, Any]) -> Bool[Array, ""]:
            return ~carry[1].all()

        def step(carry: tuple[Workers, Any, Any, Any]) -> tuple[Workers, Any, Any, Any]:
            workers, is_done, returned, key = carry
            key, act_key, follow_key = jax.random.split(key, 3)
            observations = jax.vmap(partial(self.environment.observe, knowledge.world))(workers.state)
            now = jax.vmap(self.environment.remember)(workers.state)
            actions, _, stacks = self.agent.act(
                knowledge.task, agent, workers.stacks, workers.belief, observations, now, False, act_key
            )
            after, what = self._advance(knowledge, workers._replace(stacks=stacks), workers.belief, now, actions)
            true = jax.vmap(partial(verdict, knowledge.truth))(after.truth)
            won = ~is_done & (true == ACCEPT) & (after.waiting == NOTHING)
            after = after._replace(stacks=self.agent.follow(knowledge.task, stacks, what, follow_key))
            return where_rows(is_done, workers, after), is_done | what.is_over, returned + won, key

        nobody = ~wanted | ~knowledge.is_learned[task]
        _, _, returned, _ = jax.lax.while_loop(goes_on, step, (workers, nobody, jnp.zeros(task.shape), key))
        total: Float[Array, " N"] = returned
        return total


def _example(is_learned: Bool[Array, " N"], said: Int32[Array, " N"], true: Int32[Array, " N"]) -> Int32[Array, " N"]:
    """What the trace so far is an example of, if there is something to be learned from it."""
    outcome = jnp.select([true == ACCEPT, true == REJECT], [GOAL, DEAD_END], INCOMPLETE)
    is_wrong = is_learned & (said != true)
    is_first = ~is_learned & (true == ACCEPT)
    return jnp.where(is_wrong | is_first, outcome, NOTHING).astype(jnp.int32)


def _fed(tables: Tables, root: Int32[Array, " N"], label: UInt32[Array, "N W"]) -> State:
    return jax.vmap(lambda r, seen: moves(tables, initial_state(tables, r), seen)[1])(root, label)


def _moved(tables: Tables, states: State, label: UInt32[Array, "N W"], when: Bool[Array, " N"]) -> tuple[State, State]:
    called, after = jax.vmap(partial(moves, tables))(states, label)
    return where_rows(when, called, states), where_rows(when, after, states)


def _goes_on(knowledge: Knowledge, workers: Workers, max_steps: int) -> Bool[Array, " N"]:
    true = jax.vmap(partial(verdict, knowledge.truth))(workers.truth)
    return (true == NEITHER) & (workers.steps < max_steps)


def _count(
    knowledge: Knowledge, workers: Workers, ended: Bool[Array, " N"], after: Workers
) -> tuple[Int32[Array, " T"], Int32[Array, " T"]]:
    true = jax.vmap(partial(verdict, knowledge.truth))(after.truth)
    nothing = jnp.zeros(knowledge.root.shape, jnp.int32)
    episodes = nothing.at[workers.task].add(ended.astype(jnp.int32))
    return episodes, nothing.at[workers.task].add((ended & (true == ACCEPT)).astype(jnp.int32))
