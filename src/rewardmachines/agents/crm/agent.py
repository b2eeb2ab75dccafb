"""CRM: one Q-function of observation and machine state, learned from every step as if in every state.

A step brings one experience for each state of the machine that is not terminal. Only the step is stored, because the
experiences follow from its label. The machine that acts is the environment's, and moves on label events, as published;
whether the machines of experiences do so is a setting, `event_rewards`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents import replay
from rewardmachines.agents.batches import unless_stopped
from rewardmachines.agents.config import Layout
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.crm.machine import MACHINE, experiences_per_step, next_state, open_states
from rewardmachines.agents.double_dqn import NO_ACTION, Batch, Values, exploration, gradient, optimizer, persistent
from rewardmachines.agents.loop_of_runs import IsGoing, once_if
from rewardmachines.agents.networks import Chance, Network, single
from rewardmachines.agents.protocol import Losses, Ready, Recall, Step, Task
from rewardmachines.agents.replay import Rings, Transition
from rewardmachines.lowered import State, Tables


class CrmState(NamedTuple):
    """The networks, counters and replay memory of the agent."""

    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, ""]
    """Batches that the agent has learned from."""
    steps: Int32[Array, ""]
    """Steps that were taken while exploring."""
    replay: Rings[Transition]
    """One ring with the steps that it learns from."""


class CrmInputs(NamedTuple):
    """The inputs of the Q-function."""

    observation: Float[Array, "B ..."]
    state: Int32[Array, "*U B"]
    """The machine's state; after a step that is considered in all U states at once, one next state for each."""


class CrmExperience(NamedTuple):
    """A step as it would have been experienced in a given state of the machine."""

    next_state: Int32[Array, ""]
    """The state that its machine moves to."""
    reward: Float[Array, ""]
    """1 on reaching an accepting state, plus the environment's own reward, if it has a weight."""
    is_end: Bool[Array, ""]
    """Whether the episode ends: the machine has accepted or rejected, or the environment has terminated."""


__all__ = ["CrmAgent", "CrmInputs", "CrmState"]

Plans: TypeAlias = Int32[Array, " N"]
"""CRM has no plans; in their place are the last actions, which random actions may repeat."""


class _Given(NamedTuple):
    """The data that the Q-function learns from."""

    task: Task
    steps: Rings[Transition]
    key: PRNGKeyArray
    """The random key for drawing batches."""


@dataclass(frozen=True)
class CrmAgent:
    """The static part of a CRM agent; networks and replay memory are in `CrmState`.

    With separate layout the machine's state is an input of the network, as in the paper; with shared layout it has a
    head.
    """

    config: CrmConfig
    shape: tuple[int, ...]
    """The shape of an observation."""
    actions: int
    """The number of actions of the environment."""
    states: int
    """The number of states of the machine."""
    recall: Recall
    """Computes an observation from a stored moment."""

    def create(self, task: Task, memory: Any, chance: Chance) -> CrmState:
        """The untrained state. `memory` is any moment as it is stored."""
        words = task.tables.required.shape[-1]
        no, action, label = jax.device_put((np.zeros((), bool), np.uint8(0), np.zeros(words, np.uint32)))
        row = Transition(
            before=memory,
            action=action,
            after=memory,
            label=label,
            is_event=no,
            is_dead_end=no,
            reward=jnp.float32(0) if self.config.environment_reward else None,
        )
        shared = self.config.layout is Layout.SHARED
        extra, outputs = (0, self.states * self.actions) if shared else (self.states, self.actions)
        online = single(Network(self.config.network, self.shape, extra, outputs, chance))
        size = max(1, self.config.replay_size // experiences_per_step(self.config, task.tables))
        return CrmState(
            online=online,
            target=jax.device_put(online, may_alias=False),
            optimizer=self._rule.init(eqx.filter(online, eqx.is_array)),
            updates=jnp.int32(0),
            steps=jnp.int32(0),
            replay=replay.empty(row, 1, size),
        )

    @property
    def _rule(self) -> Any:
        return optimizer(self.config.optimizer, self.config.learning_rate)

    def begin_plans(self, task: Task, states: State, now: Any, key: PRNGKeyArray) -> Plans:  # noqa: ARG002
        """The plans at the beginning: no last actions."""
        return jnp.full(states.machine.shape[0], NO_ACTION, jnp.int32)

    def _all_values(self, network: Any, observations: Float[Array, "B ..."]) -> Float[Array, "U B A"]:
        """The values of all heads of a shared network, one for each of U states."""
        values = network(observations).reshape(len(observations), self.states, self.actions)
        return jnp.moveaxis(values, 1, 0)

    def _values(self, network: Any, inputs: CrmInputs) -> Float[Array, "B A"]:
        """The values, by a network that has the state as an input."""
        values: Float[Array, "B A"] = network(inputs.observation, jax.nn.one_hot(inputs.state, self.states))
        return values

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
        """The greedy action in the machine's state, or a random action with the probability of the settings."""
        if self.config.layout is Layout.SHARED:
            values = self._all_values(state.online, observations)[states.state, jnp.arange(len(observations))]
        else:
            values = self._values(state.online, CrmInputs(observations, states.state))
        action = jnp.argmax(values, axis=-1).astype(jnp.int32)
        if not explores:
            return action, state, plans
        random_key, explore_key = jax.random.split(key)
        config = self.config
        chance = exploration(state.steps, config.exploration)
        wanders = jax.random.uniform(explore_key, action.shape) < chance
        if guided is not None:
            wanders &= ~guided
        random = jax.random.randint(random_key, action.shape, 0, self.actions)
        if config.persistence:
            random = persistent(random, plans, config.persistence, random_key)
        chosen = jnp.where(wanders, random, action)
        return chosen, state, chosen if config.persistence else plans

    def observe(
        self,
        task: Task,
        state: CrmState,
        plans: Plans,
        step: Step,
        key: PRNGKeyArray,  # noqa: ARG002
    ) -> tuple[CrmState, Plans]:
        """Stores the step. The experiences of all states of the machine are computed when it is drawn for learning."""
        # Whether a machine rejects follows from the label, in every state. What must be stored is only whether the
        # environment has ended by itself, although the machine that acts did not reject.
        is_dead_end = step.is_dead_end & ~task.tables.is_rejecting[MACHINE, step.to_state.state]
        rows = Transition(
            before=step.before,
            action=step.action.astype(jnp.uint8),
            after=step.after,
            label=step.label,
            is_event=step.is_event,
            is_dead_end=is_dead_end,
            reward=step.weighted_reward(self.config.environment_reward),
        )
        ring = jnp.zeros(step.action.shape, jnp.int32)
        explored = step.is_valid if step.is_guided is None else step.is_valid & ~step.is_guided
        steps = state.steps + explored.sum(dtype=jnp.int32)
        return state._replace(steps=steps, replay=replay.write(state.replay, rows, ring, step.is_valid)), plans

    def follow(self, task: Task, plans: Plans, step: Step, key: PRNGKeyArray) -> Plans:  # noqa: ARG002
        """CRM has no plans that a step could change."""
        return plans

    def exploration(self, task: Task, state: CrmState) -> Float[Array, ""]:  # noqa: ARG002
        """The probability of a random action."""
        config = self.config
        return exploration(state.steps, config.exploration)

    # -- learning

    def learn(self, task: Task, state: CrmState, key: PRNGKeyArray, ready: Ready = True) -> tuple[CrmState, Losses]:
        """Learns from the number of batches in the settings, if the replay memory is ready."""
        nothing: Any = None  # the replay memory is only read: as part of the loop's state, it would be copied
        start = state._replace(replay=nothing), jnp.float32(0)
        learned, loss = once_if(ready, self._learn, _Given(task, state.replay, key), start)
        return learned._replace(replay=state.replay), Losses(formulas=loss, calls=jnp.float32(0))

    def _learn(
        self,
        given: _Given,
        before: tuple[CrmState, Float[Array, ""]],
        is_going: IsGoing,
    ) -> tuple[CrmState, Float[Array, ""]]:
        """All updates after a vector step: the state, and the mean loss.

        Args:
            given: The data to learn from.
            before: The state without the replay memory, and a loss that is kept if the run does not go on.
            is_going: Whether the run goes on; if not, everything is returned as it was.
        """
        task, steps, key = given
        nothing: Any = None

        def update(now: CrmState, key: PRNGKeyArray) -> tuple[CrmState, Float[Array, ""]]:
            learned, loss = self._learn_once(task, now._replace(replay=steps), key)
            return unless_stopped(is_going, learned._replace(replay=nothing), now), loss

        learned, losses = jax.lax.scan(update, before[0], jax.random.split(key, self.config.updates))
        return learned, unless_stopped(is_going, losses.mean(), before[1])

    def _learn_once(self, task: Task, state: CrmState, key: PRNGKeyArray) -> tuple[CrmState, Float[Array, ""]]:
        """One update: the state after it, and the loss.

        A shared network learns from the experiences of a batch in all states at once, weighted so that terminal states
        and padding do not count. A network that has the state as an input learns from one experience of each step, in
        a state that is drawn among those that are not terminal.
        """
        config = self.config
        row_key, state_key = jax.random.split(key)
        rows = replay.sample(state.replay, 0, config.batch, row_key)
        before, after = (jax.vmap(lambda m: self.recall(task.world, m))(part) for part in (rows.before, rows.after))
        is_open = open_states(task.tables)[: self.states]
        if config.layout is Layout.SHARED:
            experiences = self.experiences(task.tables, rows)
            batch = self._batch(experiences, rows, CrmInputs(before, jnp.zeros(rows.action.shape, jnp.int32)), after)
            weight = is_open.astype(jnp.float32)
            values: Values = self._heads
        else:
            chosen = jax.random.categorical(state_key, jnp.where(is_open, 0.0, -jnp.inf), shape=(config.batch,))
            experiences = jax.vmap(lambda u, row: self.experience(task.tables, u, row))(chosen, rows)
            batch = self._batch(experiences, rows, CrmInputs(before, chosen), after)
            weight = jnp.float32(1)
            values = self._values
        losses, slope = gradient(values, state.online, values(state.target, batch.next_inputs), batch, weight)
        step, rule_state = self._rule.update(slope, state.optimizer)
        online = eqx.apply_updates(state.online, step)
        updates = state.updates + 1
        is_due = updates % config.target_period == 0
        target = jax.tree.map(lambda new, old: jnp.where(is_due, new, old), online, state.target)
        loss = jnp.sum(weight * losses) / jnp.sum(weight)
        return state._replace(online=online, target=target, optimizer=rule_state, updates=updates), loss

    def _heads(self, network: Any, inputs: CrmInputs) -> Float[Array, "U B A"]:
        """The values of all heads before a step; after it, for each head those of the state that it has moved to."""
        values = self._all_values(network, inputs.observation)
        if inputs.state.ndim == 1:
            return values
        return values[inputs.state, jnp.arange(values.shape[1])[None, :]]

    def _batch(self, experiences: CrmExperience, rows: Transition, inputs: CrmInputs, after: Any) -> Batch:
        """Experiences as transitions. `after` are the observations of the moments after the steps."""
        return Batch(
            inputs=inputs,
            action=rows.action.astype(jnp.int32),
            reward=experiences.reward,
            discount=jnp.where(experiences.is_end, 0.0, self.config.discount),
            next_inputs=CrmInputs(after, experiences.next_state),
            next_allowed=jnp.ones((1, 1), bool),
        )

    def experience(self, tables: Tables, state: Int32[Array, ""], row: Transition) -> CrmExperience:
        """The counterfactual experience of a stored step in a state of the machine.

        As published, the machine moves on the label of every step; with `event_rewards`, only if it has changed.

        Args:
            tables: The machine.
            state: The assumed state.
            row: The step.
        """
        counts = row.is_event if self.config.event_rewards else jnp.bool_(True)
        moved = jnp.where(counts, next_state(tables, state, row.label), state).astype(jnp.int32)
        accepted, rejected = tables.is_accepting[MACHINE][moved], tables.is_rejecting[MACHINE][moved]
        reward = accepted.astype(jnp.float32)
        if row.reward is not None:
            reward += row.reward  # the environment's own reward does not depend on the machine's state
        return CrmExperience(moved, reward, accepted | rejected | row.is_dead_end)

    def experiences(self, tables: Tables, rows: Transition) -> CrmExperience:
        """The experiences of B stored steps in all U states, as arrays [U, B]."""

        def in_state(state: Int32[Array, ""]) -> CrmExperience:
            return jax.vmap(lambda row: self.experience(tables, state, row))(rows)

        return jax.vmap(in_state)(jnp.arange(self.states))
