"""An agent in environments that somebody else runs: they report what each step brought, the hierarchy moves here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, UInt32

from rewardmachines.agents.batches import where_rows
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import AnyAgent, Recall, Step, Task
from rewardmachines.lowered import State, Tables, initial_state, move_on_event, verdict
from rewardmachines.lowered import step as hierarchy_step
from rewardmachines.lowered.traversal import ACCEPT
from rewardmachines.runs.compile_ahead import KEPT

Numbers: TypeAlias = Any
"""An array on the device, or one of the host that is yet to go there."""


class Crew(NamedTuple):
    """N environments with what the agent is doing in them."""

    now: Any
    """The present moments as they are remembered."""
    label: UInt32[Array, "N W"]
    """The labels of the present moments."""
    states: State
    """Where the hierarchies stand."""
    plans: Any
    """What the agent is about to do; only the agent knows what it looks like."""


class StepResult(NamedTuple):
    """What a step of N environments brought, and the moments from which their next actions start.

    The two differ where an episode has ended and the next has begun within the same step. All arrays have N rows,
    those of labels W words each.
    """

    action: Numbers
    after: Any
    """The moments that the actions led to, as they are remembered."""
    label: Numbers
    """The labels of these moments."""
    is_terminated: Numbers
    """Whether the episode has ended by itself, not because it ran out of steps."""
    is_over: Numbers
    """Whether the episode is terminated or cut off."""
    is_valid: Numbers
    """False where no action was taken, because the environment was reset instead."""
    next_now: Any
    """The moments from which the next actions start, as they are remembered."""
    next_label: Numbers
    """The labels of those."""
    is_fresh: Numbers
    """Whether those are the beginning of an episode."""
    reward: Numbers = None
    """What the environments paid, as 32-bit floats; None if that does not count."""


@dataclass(frozen=True)
class Driver:
    """An agent's functions, for environments outside. All but `create` are pure and meant to be compiled."""

    agent: AnyAgent
    recall: Recall

    def create(self, task: Task, memory: Any, chance: Chance) -> Any:
        """A state in which nothing is learned. Each array is a copy, so that compiled programs may overwrite it."""
        return jax.device_put(self.agent.create(task, memory, chance), may_alias=False)

    def begin(self, task: Task, root: Any, now: Any, label: Any, key: PRNGKeyArray) -> Crew:
        """N environments at the beginning of episodes of one task."""
        states = jax.vmap(partial(_first_state, task.tables, root))(label)
        return Crew(now, label, states, self.agent.begin_plans(task, states, now, key))

    def explore(self, task: Task, state: Any, crew: Crew, key: PRNGKeyArray) -> tuple[Any, Any, Crew]:
        """Actions while learning, the agent's state after counting what was explored, and the crew with new plans."""
        return self._act(task, state, crew, True, key)

    def exploit(self, task: Task, state: Any, crew: Crew, key: PRNGKeyArray) -> tuple[Any, Crew]:
        """Greedy actions, and the crew with new plans."""
        actions, _, crew = self._act(task, state, crew, False, key)
        return actions, crew

    def _act(self, task: Task, state: Any, crew: Crew, explores: bool, key: PRNGKeyArray) -> tuple[Any, Any, Crew]:
        observations = jax.vmap(partial(self.recall, task.world))(crew.now)
        actions, state, plans = self.agent.act(
            task, state, crew.plans, crew.states, observations, crew.now, explores, key
        )
        return actions, state, crew._replace(plans=plans)

    def observe(
        self, task: Task, state: Any, crew: Crew, result: StepResult, key: PRNGKeyArray
    ) -> tuple[Any, Crew]:  # fmt: skip
        """Remembers a step; the agent's state and the crew after it."""
        step = _step(task, crew, result)
        state, plans = self.agent.observe(task, state, crew.plans, step, key)
        return state, self._following(task, step, result, plans, key)

    def follow(self, task: Task, crew: Crew, result: StepResult, key: PRNGKeyArray) -> Crew:
        """The crew after a step that is not remembered: for policies that no longer learn."""
        step = _step(task, crew, result)
        plans = self.agent.follow(task, crew.plans, step, key)
        return self._following(task, step, result, plans, key)

    def _following(self, task: Task, step: Step, result: StepResult, plans: Any, key: PRNGKeyArray) -> Crew:
        """The crew for the next actions. The key was used for the step already, so another is made of it."""
        fresh = jax.vmap(partial(_first_state, task.tables))(step.to_state.root, result.next_label)
        parked = jax.vmap(partial(_parked, task.tables))(step.to_state)
        states = where_rows(result.is_fresh, fresh, where_rows(result.is_over, parked, step.to_state))
        begun = self.agent.begin_plans(task, fresh, result.next_now, jax.random.fold_in(key, 1))
        return Crew(result.next_now, result.next_label, states, where_rows(result.is_fresh, begun, plans))


class Programs:
    """The functions of a driver, compiled once each. While learning, the agent's state is overwritten in place."""

    def __init__(self, agent: AnyAgent, recall: Recall) -> None:
        driver = Driver(agent, recall)
        self.agent = agent
        self.create = driver.create
        self.begin = jax.jit(driver.begin)
        self.act = jax.jit(driver.explore, donate_argnums=1)
        self.observe = jax.jit(driver.observe, donate_argnums=1)
        self.learn = jax.jit(agent.learn, donate_argnums=1)
        self.act_greedily = jax.jit(driver.exploit)
        self.follow = jax.jit(driver.follow)
        self.exploration = jax.jit(agent.exploration)


programs = lru_cache(KEPT)(Programs)
"""The same programs for equal agents, so that nothing is compiled twice."""


def _first_state(tables: Tables, root: Any, label: UInt32[Array, " W"]) -> State:
    """Where a hierarchy stands after the label of the first moment, which is fed as in `envs.episodes.begin`."""
    return hierarchy_step(tables, initial_state(tables, root), label)


def _step(task: Task, crew: Crew, result: StepResult) -> Step:
    """The step as the agent is told of it, with the moves of the hierarchies.

    After a reset, the label counts as the one before as well, so that the hierarchy sees no event and stays.
    """
    before = where_rows(result.is_valid, crew.label, result.label)
    is_event, called, moved = jax.vmap(partial(move_on_event, task.tables))(crew.states, before, result.label)
    is_goal = jax.vmap(partial(verdict, task.tables))(moved) == ACCEPT
    return Step(
        before=crew.now,
        action=result.action,
        after=result.after,
        label=result.label,
        is_event=is_event,
        from_state=crew.states,
        called=called,
        to_state=moved,
        is_over=result.is_over,
        is_dead_end=result.is_terminated & ~is_goal,
        is_valid=result.is_valid,
        reward=result.reward,
    )


def _parked(tables: Tables, state: State) -> State:
    """A terminal state of the task, for an environment that is over but not reset yet: there is nothing to choose."""
    start = initial_state(tables, state.root)
    is_end = tables.is_accepting[state.root] | tables.is_rejecting[state.root]
    return start._replace(state=jnp.argmax(is_end).astype(jnp.int32))
