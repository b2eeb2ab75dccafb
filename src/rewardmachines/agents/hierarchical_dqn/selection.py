"""The choice of options and actions: options until a formula option is on top of the stack, then its action."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents.double_dqn import exploration, persistent
from rewardmachines.agents.hierarchical_dqn import call_q, formula_q
from rewardmachines.agents.hierarchical_dqn.call_q import CallBank
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.options import stack as options
from rewardmachines.agents.options.stack import ChoicePoint, OptionStack
from rewardmachines.lowered import State


class _Filling(NamedTuple):
    """The stacks of N environments while options are chosen."""

    stacks: OptionStack
    chosen: Int32[Array, " N"]
    """Options chosen since filling began."""
    is_stuck: Bool[Array, " N"]
    """Whether an option is needed, but none is allowed."""
    key: PRNGKeyArray


def fill(
    config: HierarchicalDqnConfig,
    task: OptionTask,
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

    Few environments need options at a time. Each round serves a batch of environments that wait for the same machine,
    so that one network is evaluated on a small batch, instead of the networks of all machines on all environments. With
    `fill_machines`, a round serves environments that wait for any machine, which takes fewer rounds.

    Args:
        config: The agent's settings.
        task: The task.
        calls: The Q-functions of machines.
        stacks: The options that are running.
        states: The states of the hierarchies.
        observations: The observations.
        now: The same moments, as they are stored.
        explores: Whether some options are chosen at random.
        key: The random key.
        guided: Environments in which choices are greedy and no option may lead into a rejecting state.
    """
    count = states.machine.shape[0]

    def goes_on(filling: _Filling) -> Bool[Array, ""]:
        return _waiting(task, states, filling)[1].any()

    def round_of(filling: _Filling) -> _Filling:
        at, needs = _waiting(task, states, filling)
        machine = None if config.fill_machines else at.machine[jnp.argmax(needs)]
        wanted = needs if machine is None else needs & (at.machine == machine)
        together = min(count, config.fill_together)
        # Shapes are fixed, so the batch has a constant size. `top_k` of the mask puts first the environments that need
        # an option now; if these are fewer, further environments fill the batch, and their choices are discarded.
        is_served, served = jax.lax.top_k(wanted.astype(jnp.int32), together)
        key, choice_key = jax.random.split(filling.key)
        points, stacks, begun = jax.tree.map(lambda x: x[served], (at, filling.stacks, now))
        is_guided = None if guided is None else guided[served]
        output, can = _choose_outputs(
            config, task, calls, machine, points, observations[served], explores, choice_key, is_guided
        )
        return _served(filling, key, served, is_served.astype(bool), points, output, can, stacks, begun)

    start = _Filling(stacks, jnp.zeros(count, jnp.int32), jnp.zeros(count, bool), key)
    return jax.lax.while_loop(goes_on, round_of, start).stacks


def _waiting(task: OptionTask, states: State, filling: _Filling) -> tuple[ChoicePoint, Bool[Array, " N"]]:
    """The next choice point of each environment, and whether it needs an option and is not stuck."""
    at = jax.vmap(lambda stack, state, chosen: options.next_choice(task.tables, task.options, stack, state, chosen))(
        filling.stacks, states, filling.chosen
    )
    return at, at.is_needed & ~filling.is_stuck


def _served(
    filling: _Filling,
    key: PRNGKeyArray,
    served: Int32[Array, " B"],
    is_served: Bool[Array, " B"],
    at: ChoicePoint,
    output: Int32[Array, " B"],
    can: Bool[Array, " B"],
    stacks: OptionStack,
    now: Any,
) -> _Filling:
    """The filling after a round: environments that were served have one more option, or are stuck.

    Args:
        filling: The filling before.
        key: The random key of the next rounds.
        served: The B environments of the batch.
        is_served: The mask of environments that were served; the remaining ones only fill the batch.
        at: The choice points.
        output: The choices.
        can: Whether any choice is allowed.
        stacks: The stacks of these environments.
        now: Their present moments, when the options begin.
    """
    pushed = jax.vmap(options.push)(stacks, at, output, now, is_served & can)
    put = lambda old, new: old.at[served].set(new, unique_indices=True)  # noqa: E731
    return _Filling(
        stacks=jax.tree.map(put, filling.stacks, pushed),
        chosen=filling.chosen.at[served].add((is_served & can).astype(jnp.int32)),
        is_stuck=filling.is_stuck.at[served].max(is_served & ~can),
        key=key,
    )


def _choose_outputs(
    config: HierarchicalDqnConfig,
    task: OptionTask,
    calls: CallBank,
    machine: Int32[Array, ""] | None,
    at: ChoicePoint,
    observations: Float[Array, "B ..."],
    explores: bool,
    key: PRNGKeyArray,
    guided: Bool[Array, " B"] | None,
) -> tuple[Int32[Array, " B"], Bool[Array, " B"]]:
    """Chooses options of machines for B environments.

    Args:
        config: The agent's settings.
        task: The task.
        calls: The Q-functions of machines.
        machine: The machine that all environments wait for; None if they may wait for different machines.
        at: The choice points.
        observations: The observations.
        explores: Whether some options are chosen at random.
        key: The random key.
        guided: Environments in which choices are greedy and no choice may lead into a rejecting state.

    Returns:
        The chosen outputs, and whether any output is allowed.
    """
    allowed = jax.vmap(lambda point: options.allowed(task.options, point))(at)
    if guided is not None:
        allowed &= ~(guided[:, None] & task.options.rejects[at.machine, at.state])
    valued = _valued(task, calls, machine, at, observations)
    if explores:
        noise_key, explore_key = jax.random.split(key)
        noise = jax.random.uniform(noise_key, valued.shape)  # the best of random values is a random choice
        ended = calls.ended[at.machine, at.state, at.context]
        chance = exploration(ended, config.calls.exploration)
        chance = _unless(guided, chance)
        valued = jnp.where(jax.random.uniform(explore_key, chance.shape)[:, None] < chance[:, None], noise, valued)
    return jnp.argmax(jnp.where(allowed, valued, -jnp.inf), axis=-1).astype(jnp.int32), allowed.any(axis=-1)


def _valued(
    task: OptionTask,
    calls: CallBank,
    machine: Int32[Array, ""] | None,
    at: ChoicePoint,
    observations: Float[Array, "B ..."],
) -> Float[Array, "B O"]:
    """The values of outputs, by the network of the common machine, or by the network of each environment's machine."""
    inputs = call_q.CallInputs(observations, at.state, at.context)
    if machine is not None:
        return call_q.values(task.options, call_q.select(calls.online, machine), inputs)
    by_machine = jax.vmap(lambda network: call_q.values(task.options, network, inputs))(calls.online)
    own: Float[Array, "B O"] = by_machine[at.machine, jnp.arange(len(at.machine))]
    return own


def choose_actions(
    config: HierarchicalDqnConfig,
    count: int,
    task: OptionTask,
    bank: FormulaBank,
    stacks: OptionStack,
    observations: Float[Array, "N ..."],
    explores: bool,
    key: PRNGKeyArray,
    guided: Bool[Array, " N"] | None,
) -> tuple[Int32[Array, " N"], FormulaBank]:
    """Chooses actions by the last options of the stacks; at random where there is no formula option.

    Args:
        config: The agent's settings.
        count: The number of actions of the environment.
        task: The task.
        bank: The Q-functions of formulas.
        stacks: The options that are running.
        observations: The observations.
        explores: Whether some actions are chosen at random.
        key: The random key.
        guided: Environments in which actions are greedy.

    Returns:
        The actions, and the Q-functions with the exploration steps of their policies counted.
    """
    has_formula = jax.vmap(lambda stack: options.is_formula(task.options, stack))(stacks)
    slot = jax.vmap(lambda stack: options.slot(task.tables, task.options, stack))(stacks)
    networks = bank.online if explores else formula_q.acting(config, bank)
    valued = formula_q.values(config.layout, count, networks, observations)  # [K, N, A]
    action = jnp.argmax(valued[slot, jnp.arange(len(slot))], axis=-1).astype(jnp.int32)
    random_key, explore_key = jax.random.split(key)
    random = jax.random.randint(random_key, action.shape, 0, count)
    if not explores:
        return jnp.where(has_formula, action, random), bank
    if stacks.held is not None:
        random = persistent(random, stacks.held, config.persistence, random_key)
    chance = exploration(bank.steps[slot], config.exploration)
    wanders = ~has_formula | (jax.random.uniform(explore_key, chance.shape) < _unless(guided, chance))
    counts = _unless(guided, has_formula.astype(jnp.int32))
    counted = bank._replace(steps=bank.steps.at[slot].add(counts))
    return jnp.where(wanders, random, action), counted


def _unless(guided: Bool[Array, " N"] | None, numbers: Array) -> Array:
    """The numbers, with 0 for guided environments."""
    return numbers if guided is None else jnp.where(guided, 0, numbers)
