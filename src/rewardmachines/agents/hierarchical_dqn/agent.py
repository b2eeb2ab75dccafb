"""The agent that exploits a hierarchy: options at every level, chosen, run, ended and learned from.

Pure functions on batches of N environments. Whoever drives them, a compiled loop or a Gymnasium environment, calls
`act`, `observe` and `learn` in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents import replay
from rewardmachines.agents.config import Config, Layout
from rewardmachines.agents.double_dqn import exploration
from rewardmachines.agents.hierarchical_dqn import call_q, formula_q
from rewardmachines.agents.hierarchical_dqn.call_q import CallBank
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.options import stack as options
from rewardmachines.agents.options.stack import Experience, OptionStack, Place
from rewardmachines.agents.protocol import Losses, Ready, Recall, Step, Task, if_ready
from rewardmachines.agents.replay import Rings, Transition
from rewardmachines.lowered import State


class AgentState(NamedTuple):
    """What an agent has learned and experienced."""

    formulas: FormulaBank
    calls: CallBank
    replay: Rings[Transition]
    call_replay: Rings[Experience]


def enlarged(fresh: AgentState, old: AgentState) -> AgentState:
    """What is known, in larger arrays.

    Networks of machines have inputs for states and outputs for options. If there are more of these, they begin afresh.
    """
    grown = fresh._replace(formulas=jax.tree.map(_pasted, fresh.formulas, old.formulas), replay=old.replay)
    if _shapes_of_one(fresh.calls.online) != _shapes_of_one(old.calls.online):
        return grown
    return grown._replace(
        calls=jax.tree.map(_pasted, fresh.calls, old.calls),
        call_replay=jax.tree.map(_pasted, fresh.call_replay, old.call_replay),
    )


def _shapes_of_one(networks: Any) -> list[tuple[int, ...]]:
    return [x.shape[1:] for x in jax.tree.leaves(networks)]


def _pasted(new: Array, old: Array) -> Array:
    return new.at[tuple(slice(0, size) for size in old.shape)].set(old) if old.shape else old


class _Filling(NamedTuple):
    stacks: OptionStack
    chosen: Int32[Array, " N"]
    is_stuck: Bool[Array, " N"]
    key: PRNGKeyArray


@dataclass(frozen=True)
class HierarchicalAgent:
    """Static settings; what is learned is in `AgentState`."""

    config: Config
    shape: tuple[int, ...]
    actions: int
    depth: int
    """How many options can run at once: the height of the hierarchy."""
    recall: Recall

    # -- to begin with

    def create(self, task: Task, memory: Any, chance: Chance) -> AgentState:
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

    def begin_plans(self, task: Task, states: State, now: Any, key: PRNGKeyArray) -> OptionStack:
        """Option stacks for the beginnings of episodes, the first label of which the hierarchies have been fed."""
        keys = jax.random.split(key, states.machine.shape[0])
        return jax.vmap(partial(options.begun, task.options, self.depth))(states, now, keys)

    # -- acting

    def act(
        self,
        task: Task,
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
        stacks = self.fill(task, state.calls, stacks, states, observations, now, explores, fill_key, guided)
        actions, formulas = self._actions(task, state.formulas, stacks, observations, explores, action_key, guided)
        return actions, state._replace(formulas=formulas), stacks

    def fill(
        self,
        task: Task,
        calls: CallBank,
        stacks: OptionStack,
        states: State,
        observations: Float[Array, "N ..."],
        now: Any,
        explores: bool,
        key: PRNGKeyArray,
        guided: Bool[Array, " N"] | None = None,
    ) -> OptionStack:
        """Chooses options until every stack ends with a formula option, or nothing can be chosen.

        Few environments need any at a time. In each round, some that wait for the same machine are served.
        """
        count = states.machine.shape[0]
        some = min(count, self.config.fill_together)

        def waiting(filling: _Filling) -> tuple[Place, Bool[Array, " N"]]:
            at = jax.vmap(lambda stack, state, chosen: options.place(task.tables, task.options, stack, state, chosen))(
                filling.stacks, states, filling.chosen
            )
            return at, at.is_needed & ~filling.is_stuck

        def goes_on(filling: _Filling) -> Bool[Array, ""]:
            return waiting(filling)[1].any()

        def round_of(filling: _Filling) -> _Filling:
            at, needs = waiting(filling)
            machine = at.machine[jnp.argmax(needs)]
            is_served, served = jax.lax.top_k((needs & (at.machine == machine)).astype(jnp.int32), some)
            key, choice_key = jax.random.split(filling.key)
            mine = jax.tree.map(lambda x: x[served], at)
            follows = None if guided is None else guided[served]
            output, can = self._choose_outputs(
                task, calls, machine, mine, observations[served], explores, choice_key, follows
            )
            is_served = is_served.astype(bool)
            some_stacks = jax.tree.map(lambda x: x[served], filling.stacks)
            moment = jax.tree.map(lambda x: x[served], now)
            some_stacks = jax.vmap(options.push)(some_stacks, mine, output, moment, is_served & can)
            put = lambda old, new: old.at[served].set(new, unique_indices=True)  # noqa: E731
            return _Filling(
                jax.tree.map(put, filling.stacks, some_stacks),
                filling.chosen.at[served].add((is_served & can).astype(jnp.int32)),
                filling.is_stuck.at[served].max(is_served & ~can),
                key,
            )

        start = _Filling(stacks, jnp.zeros(count, jnp.int32), jnp.zeros(count, bool), key)
        return jax.lax.while_loop(goes_on, round_of, start).stacks

    def _choose_outputs(
        self,
        task: Task,
        calls: CallBank,
        machine: Int32[Array, ""],
        at: Place,
        observations: Float[Array, "B ..."],
        explores: bool,
        key: PRNGKeyArray,
        guided: Bool[Array, " B"] | None,
    ) -> tuple[Int32[Array, " B"], Bool[Array, " B"]]:
        """Of one machine, for some environments; and whether there is anything to choose."""
        allowed = jax.vmap(lambda one: options.allowed(task.options, one))(at)
        if guided is not None:
            allowed &= ~(guided[:, None] & task.options.rejects[at.machine, at.state])
        network = call_q.select(calls.online, machine)
        said = call_q.values(task.options, network, call_q.Inputs(observations, at.state, at.context))
        if explores:
            noise_key, explore_key = jax.random.split(key)
            noise = jax.random.uniform(noise_key, said.shape)
            ended = calls.ended[machine, at.state, at.context]
            config = self.config
            chance = exploration(ended, config.call_annealing, config.first_exploration, config.last_exploration)
            chance = _unless(guided, chance)
            said = jnp.where(jax.random.uniform(explore_key, chance.shape)[:, None] < chance[:, None], noise, said)
        return jnp.argmax(jnp.where(allowed, said, -jnp.inf), axis=-1).astype(jnp.int32), allowed.any(axis=-1)

    def _actions(
        self,
        task: Task,
        bank: FormulaBank,
        stacks: OptionStack,
        observations: Float[Array, "N ..."],
        explores: bool,
        key: PRNGKeyArray,
        guided: Bool[Array, " N"] | None,
    ) -> tuple[Int32[Array, " N"], FormulaBank]:
        """Actions of the last options; at random where there is no formula option. Counts what was explored."""
        has_formula = jax.vmap(lambda stack: options.is_formula(task.options, stack))(stacks)
        slot = task.options.slot[jax.vmap(lambda stack: options.formula(task.options, stack))(stacks)]
        said = formula_q.values(self.config.layout, self.actions, bank.online, observations)
        action = jnp.argmax(said[slot, jnp.arange(len(slot))], axis=-1).astype(jnp.int32)
        random_key, explore_key = jax.random.split(key)
        random = jax.random.randint(random_key, action.shape, 0, self.actions)
        if not explores:
            return jnp.where(has_formula, action, random), bank
        config = self.config
        chance = exploration(
            bank.steps[slot], config.annealing_steps, config.first_exploration, config.last_exploration
        )
        wanders = ~has_formula | (jax.random.uniform(explore_key, chance.shape) < _unless(guided, chance))
        counts = _unless(guided, has_formula.astype(jnp.int32))
        counted = bank._replace(steps=bank.steps.at[slot].add(counts))
        return jnp.where(wanders, random, action), counted

    def exploration(self, task: Task, state: AgentState) -> Float[Array, ""]:
        """Of the formulas in use."""
        config, active = self.config, task.options.is_active
        chance = exploration(
            state.formulas.steps, config.annealing_steps, config.first_exploration, config.last_exploration
        )
        return jnp.sum(jnp.where(active, chance, 0)) / jnp.maximum(active.sum(), 1)

    # -- seeing what came of it

    def observe(
        self, task: Task, state: AgentState, stacks: OptionStack, step: Step, key: PRNGKeyArray
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

    def follow(self, task: Task, stacks: OptionStack, step: Step, key: PRNGKeyArray) -> OptionStack:
        """Only what happens to the options: for policies that no longer learn."""
        stacks, ended = self._ended(task, stacks, step)
        return self._aligned(task, stacks, ended, step, key)

    def _ended(self, task: Task, stacks: OptionStack, step: Step) -> tuple[OptionStack, options.Ended]:
        stacks = jax.vmap(options.one_step_more)(stacks)
        ended = jax.vmap(lambda *arguments: options.ended(task.options, *arguments))(
            stacks, step.from_state, step.called, step.to_state, step.label, step.is_event, step.is_over
        )
        return stacks, ended

    def _aligned(
        self, task: Task, stacks: OptionStack, ended: options.Ended, step: Step, key: PRNGKeyArray
    ) -> OptionStack:
        keys = jax.random.split(key, step.action.shape[0])
        aligned = jax.vmap(lambda *arguments: options.align(task.options, *arguments))(
            stacks, ended.is_over, step.to_state, step.before, keys
        )
        return jax.vmap(options.cleared)(aligned, jnp.zeros_like(aligned.size), step.is_over)

    # -- learning

    def learn(self, task: Task, state: AgentState, key: PRNGKeyArray, ready: Ready = True) -> tuple[AgentState, Losses]:
        """As many batches for formulas as the settings say, if it is ready; and the updates owed to machines.

        A machine is ready on its own, as soon as enough of its options were achieved. Were it to wait for the formulas,
        all that it is owed by then would be paid in one burst.
        """
        formula_key, call_key = jax.random.split(key)

        def learn(bank: FormulaBank) -> tuple[FormulaBank, Losses]:
            learned, loss = self._learn_formulas(task, state._replace(formulas=bank), formula_key)
            return learned, Losses(loss, jnp.float32(0))

        formulas, losses = if_ready(ready, learn, state.formulas)
        calls, call_loss = self._learn_calls(task, state, call_key)
        return state._replace(formulas=formulas, calls=calls), losses._replace(calls=call_loss)

    def _recalled(self, task: Task, rows: Any) -> Float[Array, "B ..."]:
        return jax.vmap(lambda memory: self.recall(task.world, memory))(rows)

    def _learn_formulas(self, task: Task, state: AgentState, key: PRNGKeyArray) -> tuple[FormulaBank, Float[Array, ""]]:
        config = self.config
        keys = jax.random.split(key, config.updates + 1)
        if config.layout is Layout.SEPARATE:
            return self._learn_chosen(task, state, keys)

        def step(bank: FormulaBank, key: PRNGKeyArray) -> tuple[FormulaBank, Float[Array, ""]]:
            rows = replay.sample(state.replay, 0, config.batch, key)
            before, after = self._recalled(task, rows.before), self._recalled(task, rows.after)
            return formula_q.learn_shared(config, self.actions, bank, task.options, rows, before, after)

        bank, losses = jax.lax.scan(step, state.formulas, keys[1:])
        return bank, losses.mean()

    def _learn_chosen(self, task: Task, state: AgentState, keys: PRNGKeyArray) -> tuple[FormulaBank, Float[Array, ""]]:
        """The same few networks learn from all batches of the round: they are taken out of the bank once.

        Targets do not change within a round, so the target networks are asked about all batches together.
        """
        config, times, bank = self.config, self.config.updates, state.formulas
        slots = formula_q.choose(bank, task.options.is_active, config.formulas, keys[0])
        active = task.options.is_active[slots]
        rows = replay.sample(state.replay, 0, times * config.batch, keys[1])
        before, after = self._recalled(task, rows.before), self._recalled(task, rows.after)
        target = formula_q.take_out(bank.target, slots)
        following = formula_q.values(config.layout, self.actions, target, after)  # [S, T * B, A]
        in_batches = lambda x: x.reshape(times, config.batch, *x.shape[1:])  # noqa: E731
        rounds = (
            jax.tree.map(in_batches, (rows, before, after)),
            jnp.moveaxis(following.reshape(len(slots), times, config.batch, self.actions), 1, 0),
        )

        def step(chosen: formula_q.Chosen, one: Any) -> tuple[formula_q.Chosen, Float[Array, ""]]:
            (some, before, after), following = one
            batch = formula_q.batch_for(config, task.options, some, before, after, slots)
            return formula_q.learn_chosen(config, self.actions, chosen, batch, following, active)

        first = formula_q.Chosen(*formula_q.take_out((bank.online, bank.optimizer), slots))
        chosen, losses = jax.lax.scan(step, first, rounds)
        return formula_q.put_back(config, bank, slots, chosen, active, times), losses.mean()

    def _learn_calls(self, task: Task, state: AgentState, key: PRNGKeyArray) -> tuple[CallBank, Float[Array, ""]]:
        config = self.config

        def is_owed(carry: tuple[CallBank, PRNGKeyArray, Float[Array, ""], Int32[Array, ""]]) -> Bool[Array, ""]:
            return (carry[0].owed >= 1).any()

        def step(
            carry: tuple[CallBank, PRNGKeyArray, Float[Array, ""], Int32[Array, ""]],
        ) -> tuple[CallBank, PRNGKeyArray, Float[Array, ""], Int32[Array, ""]]:
            bank, key, total, count = carry
            key, sample_key = jax.random.split(key)
            machine = jnp.argmax(bank.owed).astype(jnp.int32)
            rows = replay.sample(state.call_replay, machine, config.call_batch, sample_key)
            before, after = self._recalled(task, rows.start), self._recalled(task, rows.end)
            batch = call_q.batch_for(config, task.options, machine, rows, before, after)
            bank, loss = call_q.learn(config, task.options, bank, machine, batch)
            return bank, key, total + loss, count + 1

        bank, _, total, count = jax.lax.while_loop(is_owed, step, (state.calls, key, jnp.float32(0), jnp.int32(0)))
        return bank, total / jnp.maximum(count, 1)


def _unless(guided: Bool[Array, " N"] | None, numbers: Array) -> Array:
    """Nothing where it is guided."""
    return numbers if guided is None else jnp.where(guided, 0, numbers)
