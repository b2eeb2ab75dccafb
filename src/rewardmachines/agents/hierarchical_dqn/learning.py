"""Learning from the replay memories: Q-functions of formulas learn from steps, those of machines from options."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, Key, PRNGKeyArray

from rewardmachines.agents import replay
from rewardmachines.agents.batches import unless_stopped
from rewardmachines.agents.config import Layout
from rewardmachines.agents.hierarchical_dqn import call_q, chosen_formulas, formula_q
from rewardmachines.agents.hierarchical_dqn.call_q import CallBank
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import Ahead, FormulaBank
from rewardmachines.agents.hierarchical_dqn.state import AgentState
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.loop_of_runs import IsGoing, loop_of_runs, once_if
from rewardmachines.agents.options.stack import Experience
from rewardmachines.agents.protocol import Losses, Ready, Recall
from rewardmachines.agents.replay import Rings, Transition


@runtime_checkable
class LearningAgent(Protocol):
    """The part of an agent that learning uses."""

    @property
    def config(self) -> HierarchicalDqnConfig: ...

    @property
    def actions(self) -> int: ...

    @property
    def recall(self) -> Recall: ...


def learn(
    agent: LearningAgent, task: OptionTask, state: AgentState, key: PRNGKeyArray, ready: Ready = True
) -> tuple[AgentState, Losses]:
    """Learns formulas from the number of batches in the settings, if ready, and makes the due updates of machines.

    Each machine is ready as soon as enough of its options were achieved. If machines waited for formulas, all updates
    that become due until then would be made at once.

    Args:
        agent: The agent.
        task: The task.
        state: The agent's state.
        key: The random key.
        ready: Whether the replay memory of formulas is full enough.

    Returns:
        The state after learning, and the losses.
    """
    formula_key, call_key = jax.random.split(key)
    ahead = state.calls.target if agent.config.lookahead else None
    given, nothing = _Given(task, state.replay, formula_key, ahead), jnp.float32(0)
    if task.options.learns_calls is not None:  # some policies are given, perhaps those of all formulas
        ready = ready & task.options.is_active.any()
    formulas, loss = once_if(ready, partial(_learn_formulas, agent), given, (state.formulas, nothing))
    calls, call_loss = _learn_calls(agent, task, state, call_key)
    return state._replace(formulas=formulas, calls=calls), Losses(loss, call_loss)


def _recalled(agent: LearningAgent, task: OptionTask, rows: Any) -> Float[Array, "B ..."]:
    """The observations of B stored moments."""
    return jax.vmap(lambda memory: agent.recall(task.world, memory))(rows)


class _Given(NamedTuple):
    """The data that the Q-functions of formulas learn from."""

    task: OptionTask
    steps: Rings[Transition]
    key: PRNGKeyArray
    """The random key for drawing batches."""
    calls: Any = None
    """The networks of machines, if options look ahead."""


def _learn_formulas(
    agent: LearningAgent,
    given: _Given,
    before: tuple[FormulaBank, Float[Array, ""]],
    is_going: IsGoing,
) -> tuple[FormulaBank, Float[Array, ""]]:
    """Updates of the Q-functions of formulas: the bank after them, and the mean loss.

    Args:
        agent: The agent.
        given: The data to learn from.
        before: The bank, and a loss that is kept if the run does not go on.
        is_going: Whether the run goes on; if not, everything is returned as it was.
    """
    (task, steps, key, calls), (bank, no_loss) = given, before
    config = agent.config
    keys = jax.random.split(key, config.updates + 1)
    if config.layout is Layout.SEPARATE:
        bank, loss = _learn_chosen(agent, given, bank, keys, is_going)
        return bank, unless_stopped(is_going, loss, no_loss)

    def step(bank: FormulaBank, key: PRNGKeyArray) -> tuple[FormulaBank, Float[Array, ""]]:
        rows = replay.sample(steps, 0, config.batch, key)
        before, after = _recalled(agent, task, rows.before), _recalled(agent, task, rows.after)
        learned, loss = formula_q.learn_shared(config, agent.actions, bank, task.options, rows, before, after, calls)
        return unless_stopped(is_going, learned, bank), loss

    bank, losses = jax.lax.scan(step, bank, keys[1:])
    return bank, unless_stopped(is_going, losses.mean(), no_loss)


def _learn_chosen(
    agent: LearningAgent, given: _Given, bank: FormulaBank, keys: Key[Array, " T"], is_going: IsGoing
) -> tuple[FormulaBank, Float[Array, ""]]:
    """Updates of a few networks of their own, for the layout `separate`.

    The same networks learn from all T batches, so that they are taken out of the bank and put back only once. Target
    networks do not change meanwhile, so they are evaluated on all batches together.
    """
    config, times, task = agent.config, agent.config.updates, given.task
    slots = chosen_formulas.choose(bank, task.options.is_active, config.formulas, keys[0])
    active = task.options.is_active[slots]
    rows = replay.sample(given.steps, 0, times * config.batch, keys[1])
    before, after = _recalled(agent, task, rows.before), _recalled(agent, task, rows.after)
    target = chosen_formulas.take_out(bank.target, slots)
    valued = formula_q.values(config.layout, agent.actions, target, after)  # [S, T * B, A]
    following = formula_q.bounded(config, valued)
    in_batches = lambda x: x.reshape(times, config.batch, *x.shape[1:])  # noqa: E731
    rounds = (
        jax.tree.map(in_batches, (rows, before, after)),
        _in_rounds(config, following),
        _best_values(agent, bank, after) if config.lookahead else None,
    )

    def step(chosen: chosen_formulas.Chosen, batch_of_rows: Any) -> tuple[chosen_formulas.Chosen, Float[Array, ""]]:
        (rows, before, after), following, best = batch_of_rows
        expected = None if best is None else Ahead(best, given.calls)
        batch = formula_q.batch_for(config, task.options, rows, before, after, slots, expected)
        return chosen_formulas.learn_chosen(config, agent.actions, chosen, batch, following, active)

    first = chosen_formulas.Chosen(*chosen_formulas.take_out((bank.online, bank.optimizer, bank.updates), slots))
    chosen, losses = jax.lax.scan(step, first, rounds)
    return chosen_formulas.put_back(config, bank, slots, chosen, active, times, is_going), losses.mean()


def _in_rounds(config: HierarchicalDqnConfig, valued: Float[Array, "S R A"]) -> Float[Array, "T S B A"]:
    """Values of actions in the R = T * B steps of T batches, batch by batch."""
    return jnp.moveaxis(valued.reshape(len(valued), config.updates, config.batch, -1), 1, 0)


def _best_values(agent: LearningAgent, bank: FormulaBank, after: Float[Array, "R ..."]) -> Float[Array, "T K B"]:
    """The values of the best actions after the R = T * B steps of T batches, by the target networks of all formulas."""
    config = agent.config
    best = formula_q.values(config.layout, agent.actions, bank.target, after).max(axis=-1)  # [K, R]
    return jnp.moveaxis(best.reshape(len(best), config.updates, config.batch), 1, 0)


class _GivenCalls(NamedTuple):
    """The data that the Q-functions of machines learn from."""

    task: OptionTask
    experiences: Rings[Experience]


class _Owed(NamedTuple):
    """The state of the loop that makes the due updates of machines."""

    bank: CallBank
    learned: call_q.UpdatedNetworks
    """The networks after the last update, which the next turn puts back."""
    key: PRNGKeyArray
    total: Float[Array, ""]
    """The sum of the losses so far."""
    made: Int32[Array, ""]
    """The number of updates so far."""


def _learn_calls(
    agent: LearningAgent, task: OptionTask, state: AgentState, key: PRNGKeyArray
) -> tuple[CallBank, Float[Array, ""]]:
    """Updates of the Q-functions of machines: the bank after them, and the mean loss.

    One machine is updated at a time, the machine with the most due updates, until no whole update is due. Few machines
    usually have due updates, so this is cheaper than updating all machines and discarding most results.
    """
    start = _Owed(state.calls, call_q.nothing_learned(state.calls), key, jnp.float32(0), jnp.int32(0))
    end = loop_of_runs(_is_any_owed, partial(_update, agent), _GivenCalls(task, state.call_replay), start)
    return call_q.put_back(end.bank, end.learned), end.total / jnp.maximum(end.made, 1)


def _is_any_owed(now: _Owed) -> Bool[Array, ""]:
    """Whether a whole update is due for any machine."""
    return (now.bank.owed >= 1).any()


def _update(agent: LearningAgent, given: _GivenCalls, now: _Owed, is_going: IsGoing) -> _Owed:
    """One update of the machine with the most due updates; no update, if the run does not go on."""
    config, (task, experiences) = agent.config, given
    key, sample_key = jax.random.split(now.key)
    bank = call_q.put_back(now.bank, now.learned)  # repeated if the run does not go on: nothing changes
    machine = jnp.argmax(bank.owed).astype(jnp.int32)
    rows = replay.sample(experiences, machine, config.calls.batch, sample_key)
    before, after = _recalled(agent, task, rows.start), _recalled(agent, task, rows.end)
    batch = call_q.batch_for(config, task.options, machine, rows, before, after)
    bank, learned, loss = call_q.learn(config, task.options, bank, machine, batch, is_going)
    done = learned, key, now.total + loss, now.made + 1
    return _Owed(bank, *unless_stopped(is_going, done, now[1:]))
