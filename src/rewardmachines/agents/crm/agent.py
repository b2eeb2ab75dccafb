"""CRM: one Q-function of observation and state of a flat machine, learned from every step in every state.

A step brings one experience for each state of the machine that is not terminal. They need not be stored: what a step
would have meant in another state follows from its label. The machine that acts is the environment's, and moves on label
events, as published; whether the experiences know that rule is a setting, `event_rewards`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents import replay
from rewardmachines.agents.config import Layout
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.double_dqn import Batch, Values, exploration, gradient, optimizer
from rewardmachines.agents.networks import Chance, Network, single
from rewardmachines.agents.protocol import Losses, Ready, Recall, Step, Task, if_ready
from rewardmachines.agents.replay import Rings, Transition
from rewardmachines.lowered import State, Tables
from rewardmachines.lowered.formula import holds

Plans: TypeAlias = Int32[Array, " N"]
MACHINE = 0
"""There is only one."""


class CrmState(NamedTuple):
    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, ""]
    steps: Int32[Array, ""]
    """Taken while exploring."""
    replay: Rings[Transition]


class Inputs(NamedTuple):
    observation: Float[Array, "B ..."]
    state: Int32[Array, " B"]


class Experience(NamedTuple):
    """What a step means to an agent whose machine is in some state."""

    next_state: Int32[Array, ""]
    reward: Float[Array, ""]
    """1 on reaching an accepting state."""
    is_end: Bool[Array, ""]
    """Whether nothing follows: the machine has accepted or rejected, or the environment has ended by itself."""


@dataclass(frozen=True)
class CrmAgent:
    """With separate layout the state is an input of the network, as in the paper; with shared layout it has a head."""

    config: CrmConfig
    shape: tuple[int, ...]
    actions: int
    states: int
    recall: Recall

    def create(self, task: Task, memory: Any, chance: Chance) -> CrmState:
        words = task.tables.required.shape[-1]
        no = jnp.zeros((), bool)
        row = Transition(memory, jnp.uint8(0), memory, jnp.zeros(words, jnp.uint32), no, no)
        shared = self.config.layout is Layout.SHARED
        extra, outputs = (0, self.states * self.actions) if shared else (self.states, self.actions)
        online = single(Network(self.config.network, self.shape, extra, outputs, chance))
        return CrmState(
            online,
            jax.tree.map(jnp.array, online),
            self._rule.init(eqx.filter(online, eqx.is_array)),
            jnp.int32(0),
            jnp.int32(0),
            replay.empty(row, 1, max(1, self.config.replay_size // experiences_per_step(self.config, task.tables))),
        )

    @property
    def _rule(self) -> Any:
        return optimizer(self.config.optimizer, self.config.learning_rate)

    def begin_plans(self, task: Task, states: State, now: Any, key: PRNGKeyArray) -> Plans:  # noqa: ARG002
        """It has none: a zero stands for each environment."""
        return jnp.zeros(states.machine.shape[0], jnp.int32)

    def _all_values(self, network: Any, observations: Float[Array, "B ..."]) -> Float[Array, "U B A"]:
        said = network(observations).reshape(len(observations), self.states, self.actions)
        return jnp.moveaxis(said, 1, 0)

    def _values(self, network: Any, inputs: Inputs) -> Float[Array, "B A"]:
        said: Float[Array, "B A"] = network(inputs.observation, jax.nn.one_hot(inputs.state, self.states))
        return said

    # -- acting

    def act(
        self,
        task: Task,  # noqa: ARG002
        state: CrmState,
        plans: Plans,
        states: State,
        observations: Float[Array, "N ..."],
        now: Any,  # noqa: ARG002
        explores: bool,
        key: PRNGKeyArray,
        guided: Bool[Array, " N"] | None = None,
    ) -> tuple[Int32[Array, " N"], CrmState, Plans]:
        """The best action in the machine's state; a random one as often as the settings say, unless it is guided."""
        if self.config.layout is Layout.SHARED:
            said = self._all_values(state.online, observations)[states.state, jnp.arange(len(observations))]
        else:
            said = self._values(state.online, Inputs(observations, states.state))
        action = jnp.argmax(said, axis=-1).astype(jnp.int32)
        if not explores:
            return action, state, plans
        random_key, explore_key = jax.random.split(key)
        config = self.config
        chance = exploration(state.steps, config.annealing_steps, config.first_exploration, config.last_exploration)
        wanders = jax.random.uniform(explore_key, action.shape) < chance
        if guided is not None:
            wanders &= ~guided
        random = jax.random.randint(random_key, action.shape, 0, self.actions)
        return jnp.where(wanders, random, action), state, plans

    def observe(
        self,
        task: Task,
        state: CrmState,
        plans: Plans,
        step: Step,
        key: PRNGKeyArray,  # noqa: ARG002
    ) -> tuple[CrmState, Plans]:
        # What the machine rejects follows from the label, in every state; here, the environment has ended by itself.
        is_dead_end = step.is_dead_end & ~task.tables.is_rejecting[MACHINE, step.to_state.state]
        rows = Transition(
            step.before, step.action.astype(jnp.uint8), step.after, step.label, step.is_event, is_dead_end
        )
        ring = jnp.zeros(step.action.shape, jnp.int32)
        explored = step.is_valid if step.is_guided is None else step.is_valid & ~step.is_guided
        steps = state.steps + explored.sum(dtype=jnp.int32)
        return state._replace(steps=steps, replay=replay.write(state.replay, rows, ring, step.is_valid)), plans

    def follow(self, task: Task, plans: Plans, step: Step, key: PRNGKeyArray) -> Plans:  # noqa: ARG002
        return plans

    def exploration(self, task: Task, state: CrmState) -> Float[Array, ""]:  # noqa: ARG002
        config = self.config
        return exploration(state.steps, config.annealing_steps, config.first_exploration, config.last_exploration)

    # -- learning

    def learn(self, task: Task, state: CrmState, key: PRNGKeyArray, ready: Ready = True) -> tuple[CrmState, Losses]:
        def one(carry: CrmState, key: PRNGKeyArray) -> tuple[CrmState, Float[Array, ""]]:
            learned, loss = self._learn_once(task, carry._replace(replay=state.replay), key)
            return learned._replace(replay=nothing), loss

        nothing: Any = None  # what is only read need not be carried along
        keys = jax.random.split(key, self.config.updates)

        def learn(before: CrmState) -> tuple[CrmState, Losses]:
            learned, losses = jax.lax.scan(one, before, keys)
            return learned, Losses(losses.mean(), jnp.float32(0))

        learned, losses = if_ready(ready, learn, state._replace(replay=nothing))
        return learned._replace(replay=state.replay), losses

    def _learn_once(self, task: Task, state: CrmState, key: PRNGKeyArray) -> tuple[CrmState, Float[Array, ""]]:
        config = self.config
        row_key, state_key = jax.random.split(key)
        rows = replay.sample(state.replay, 0, config.batch, row_key)
        before, after = (jax.vmap(lambda m: self.recall(task.world, m))(part) for part in (rows.before, rows.after))
        is_open = open_states(task.tables)[: self.states]
        if config.layout is Layout.SHARED:
            meant = self.experiences(task.tables, rows)
            batch = self._batch(meant, rows, Inputs(before, jnp.zeros(rows.action.shape, jnp.int32)), after)
            weight = is_open.astype(jnp.float32)
            say: Values = self._heads
        else:
            chosen = jax.random.categorical(state_key, jnp.where(is_open, 0.0, -jnp.inf), shape=(config.batch,))
            meant = jax.vmap(lambda u, row: self.experience(task.tables, u, row))(chosen, rows)
            batch = self._batch(meant, rows, Inputs(before, chosen), after)
            weight = jnp.float32(1)
            say = self._values
        losses, slope = gradient(say, state.online, say(state.target, batch.next_inputs), batch, weight)
        step, rule_state = self._rule.update(slope, state.optimizer)
        online = eqx.apply_updates(state.online, step)
        updates = state.updates + 1
        is_due = updates % config.target_period == 0
        target = jax.tree.map(lambda new, old: jnp.where(is_due, new, old), online, state.target)
        loss = jnp.sum(weight * losses) / jnp.sum(weight)
        return state._replace(online=online, target=target, optimizer=rule_state, updates=updates), loss

    def _heads(self, network: Any, inputs: Inputs) -> Float[Array, "U B A"]:
        """Of every state; or, after a step, of the state that each has moved to."""
        said = self._all_values(network, inputs.observation)
        if inputs.state.ndim == 1:
            return said
        return said[inputs.state, jnp.arange(said.shape[1])[None, :]]

    def _batch(self, meant: Experience, rows: Transition, inputs: Inputs, after: Any) -> Batch:
        return Batch(
            inputs,
            rows.action.astype(jnp.int32),
            meant.reward,
            jnp.where(meant.is_end, 0.0, self.config.discount),
            Inputs(after, meant.next_state),
            jnp.ones((1, 1), bool),
        )

    def experience(self, tables: Tables, state: Int32[Array, ""], row: Transition) -> Experience:
        """What a stored step means in a state of the machine.

        As published, the machine moves on the label of every step; with `event_rewards`, only if it has changed.
        """
        counts = row.is_event if self.config.event_rewards else jnp.bool_(True)
        moved = jnp.where(counts, next_state(tables, state, row.label), state).astype(jnp.int32)
        accepted, rejected = tables.is_accepting[MACHINE][moved], tables.is_rejecting[MACHINE][moved]
        return Experience(moved, accepted.astype(jnp.float32), accepted | rejected | row.is_dead_end)

    def experiences(self, tables: Tables, rows: Transition) -> Experience:
        """The same of stored steps [B] in all states [U]: arrays [U, B]."""

        def in_state(state: Int32[Array, ""]) -> Experience:
            return jax.vmap(lambda row: self.experience(tables, state, row))(rows)

        return jax.vmap(in_state)(jnp.arange(self.states))


def open_states(tables: Tables) -> Bool[Array, " U"]:
    """Which states of the machine are not terminal."""
    return ~(tables.is_accepting[MACHINE] | tables.is_rejecting[MACHINE])


def experiences_per_step(config: CrmConfig, tables: Tables) -> int:
    """How much of the replay memory a step takes, by the measure of the settings."""
    return int(open_states(tables).sum()) if config.counts_experiences else 1


def next_state(tables: Tables, state: Int32[Array, ""], label: UInt32[Array, " W"]) -> Int32[Array, ""]:
    """Where a flat machine goes from a state: along the edge that the label satisfies, or nowhere."""
    satisfied: Bool[Array, " C"] = holds(tables.required[MACHINE, state], tables.forbidden[MACHINE, state], label)
    return jnp.where(satisfied.any(), tables.landing[MACHINE, state, jnp.argmax(satisfied)], state)
