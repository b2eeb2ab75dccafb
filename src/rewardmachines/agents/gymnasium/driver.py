"""An agent driven from outside: whoever runs the environments tells what happened, the hierarchy moves here."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray, UInt32

from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import AnyAgent, Recall, Step, Task
from rewardmachines.lowered import State, Tables, initial_state, move_on_event, verdict
from rewardmachines.lowered import step as hierarchy_step
from rewardmachines.lowered.traversal import ACCEPT

Numbers: TypeAlias = Any
"""An array of the device, or one that is yet to go there."""


class Crew(NamedTuple):
    """Where N environments stand."""

    now: Any
    """As it is remembered."""
    label: UInt32[Array, "N W"]
    states: State
    plans: Any


class News(NamedTuple):
    """What came of the actions in N environments, and what their next actions start from. N in all, labels [N W]."""

    action: Numbers
    after: Any
    label: Numbers
    is_terminated: Numbers
    is_over: Numbers
    """Terminated or cut off."""
    is_valid: Numbers
    """False where there was no action, but a reset."""
    next_now: Any
    next_label: Numbers
    is_fresh: Numbers
    """Whether these are the beginning of an episode."""


class Programs:
    """An agent's functions, compiled once each."""

    def __init__(self, agent: AnyAgent, recall: Recall) -> None:
        def create(task: Task, memory: Any, chance: Chance) -> Any:
            fresh = agent.create(task, memory, chance)
            return jax.tree.map(jnp.copy, fresh)  # every array on its own, so that it can be given away

        def see(task: Task, crew: Crew) -> Any:
            return jax.vmap(partial(recall, task.world))(crew.now)

        def begin(task: Task, root: Any, now: Any, label: Any, key: PRNGKeyArray) -> Crew:
            states = jax.vmap(partial(_first_state, task.tables, root))(label)
            return Crew(now, label, states, agent.begin_plans(task, states, now, key))

        def act(task: Task, state: Any, crew: Crew, explores: bool, key: PRNGKeyArray) -> tuple[Any, Any, Crew]:
            actions, state, plans = agent.act(
                task, state, crew.plans, crew.states, see(task, crew), crew.now, explores, key
            )
            return actions, state, crew._replace(plans=plans)

        def observe(task: Task, state: Any, crew: Crew, news: News, key: PRNGKeyArray) -> tuple[Any, Crew]:
            step = _step(task, crew, news)
            state, plans = agent.observe(task, state, crew.plans, step, key)
            return state, _following(agent, task, step, news, plans, key)

        def explore(task: Task, state: Any, crew: Crew, key: PRNGKeyArray) -> tuple[Any, Any, Crew]:
            return act(task, state, crew, True, key)

        def exploit(task: Task, state: Any, crew: Crew, key: PRNGKeyArray) -> tuple[Any, Crew]:
            actions, _, crew = act(task, state, crew, False, key)
            return actions, crew

        def follow(task: Task, crew: Crew, news: News, key: PRNGKeyArray) -> Crew:
            step = _step(task, crew, news)
            return _following(agent, task, step, news, agent.follow(task, crew.plans, step, key), key)

        self.create = create
        self.begin = jax.jit(begin)
        self.act = jax.jit(explore, donate_argnums=1)
        self.observe = jax.jit(observe, donate_argnums=1)
        self.learn = jax.jit(agent.learn, donate_argnums=1)
        self.act_greedily = jax.jit(exploit)
        self.follow = jax.jit(follow)
        self.exploration = jax.jit(agent.exploration)


programs = cache(Programs)
"""The same for equal agents: nothing is compiled twice."""


def _first_state(tables: Tables, root: Any, label: UInt32[Array, " W"]) -> State:
    """The label of the first state is fed, as in `envs.episodes.begin`."""
    return hierarchy_step(tables, initial_state(tables, root), label)


def _step(task: Task, crew: Crew, news: News) -> Step:
    """What the hierarchy makes of the news. A reset is no event: its label counts as the one before, too."""
    before = _where(news.is_valid, crew.label, news.label)
    is_event, called, moved = jax.vmap(partial(move_on_event, task.tables))(crew.states, before, news.label)
    is_goal = jax.vmap(partial(verdict, task.tables))(moved) == ACCEPT
    is_dead_end = news.is_terminated & ~is_goal
    return Step(
        crew.now, news.action, news.after, news.label, is_event, crew.states, called, moved, news.is_over, is_dead_end,
        news.is_valid,
    )  # fmt: skip


def _following(agent: AnyAgent, task: Task, step: Step, news: News, plans: Any, key: PRNGKeyArray) -> Crew:
    """Where the environments stand for their next actions; the key, used for the step, is made another."""
    fresh = jax.vmap(partial(_first_state, task.tables))(step.to_state.root, news.next_label)
    parked = jax.vmap(partial(_parked, task.tables))(step.to_state)
    states = _where(news.is_fresh, fresh, _where(news.is_over, parked, step.to_state))
    begun = agent.begin_plans(task, fresh, news.next_now, jax.random.fold_in(key, 1))
    return Crew(news.next_now, news.next_label, states, _where(news.is_fresh, begun, plans))


def _parked(tables: Tables, state: State) -> State:
    """At an end of the task, where there is nothing to choose: for an environment that is still to be reset."""
    start = initial_state(tables, state.root)
    is_end = tables.is_accepting[state.root] | tables.is_rejecting[state.root]
    return start._replace(state=jnp.argmax(is_end).astype(jnp.int32))


def _where(mask: Bool[Array, " N"], one: Any, other: Any) -> Any:
    pick = lambda a, b: jnp.where(mask.reshape(-1, *[1] * (a.ndim - 1)), a, b)  # noqa: E731
    return jax.tree.map(pick, one, other)
