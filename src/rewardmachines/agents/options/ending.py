"""The options that end with a step, and the experiences of those that achieved their goals.

Written for one environment, like `rewardmachines.agents.options.stack`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, UInt32

from rewardmachines.agents.options.stack import TRUE_CONTEXT, OptionStack, formula, is_formula, is_running
from rewardmachines.agents.options.tables import LEAF_CALL, OptionTables
from rewardmachines.lowered import State, Tables
from rewardmachines.lowered.formula import holds


class Ended(NamedTuple):
    """The options on the stack that ended with a step."""

    is_over: Bool[Array, " D"]
    """Whether the option has ended, in whatever way."""
    is_achieved: Bool[Array, " D"]
    """Whether it has ended by achieving its goal."""


class Experience(NamedTuple):
    """An option that achieved its goal, as the Q-function of the machine that chose it learns from it."""

    machine: Int32[Array, ""]
    """The machine that chose the option."""
    state: Int32[Array, ""]
    context: Int32[Array, ""]
    output: Int32[Array, ""]
    steps: Int32[Array, ""]
    """The number of steps that the option took."""
    start: Any
    """The moment when the option began, as it is stored."""
    end: Any
    """The moment when the option ended."""
    next_state: Int32[Array, ""]
    """The state that the machine went to."""
    next_context: Int32[Array, ""]
    """The context under which the machine chooses in that state."""
    is_accepted: Bool[Array, ""]
    """Whether that state accepts."""
    is_terminal: Bool[Array, ""]
    """Whether that state accepts or rejects, so that no further option is chosen."""
    reward: Float[Array, ""] | None = None
    """The environment's own reward while the option ran, weighted and discounted; None if its weight is 0."""


def ended(
    options: OptionTables,
    stack: OptionStack,
    before: State,
    called: State,
    after: State,
    label: UInt32[Array, " W"],
    is_event: Bool[Array, ""],
    is_over: Bool[Array, ""],
) -> Ended:
    """The options that are over after a step, given the two halves of the hierarchy's transition.

    While the state of the hierarchy is the same, no option ends. When it changes, the formula option is over, and so
    are the call options whose calls are not on the call stack. At the end of an episode all options are over.

    Args:
        options: The option tables.
        stack: The options that are running.
        before: The state of the hierarchy before the step.
        called: The state of the hierarchy when all calls have begun and none has returned.
        after: The state of the hierarchy after the step.
        label: The label after the step.
        is_event: Whether the label has changed.
        is_over: Whether the episode is over.
    """
    level = jnp.arange(stack.machine.shape[0])
    running = is_running(stack)
    has_formula = is_formula(options, stack)
    matches = _matches(options, stack, called)
    stays = jnp.where(has_formula & ~has_moved(before, after), running, matches & (level < after.depth))
    number = formula(options, stack)
    is_satisfied = is_event & has_formula & holds(options.required[number], options.forbidden[number], label)
    returned = matches & (level >= after.depth)
    is_last = level == stack.size - 1
    achieved = running & jnp.where(is_last & has_formula, is_satisfied, returned)
    over = running & (is_over | ~stays)
    return Ended(over, achieved & over)


def has_moved(before: State, after: State) -> Bool[Array, ""]:
    """Whether the state of the hierarchy has changed, its call stack included."""
    return jnp.stack([jnp.any(a != b) for a, b in zip(before, after, strict=True)]).any()


def _matches(options: OptionTables, stack: OptionStack, called: State) -> Bool[Array, " D"]:
    """Whether each option's call is on the hierarchy's stack as it was chosen.

    The call at the option's level must be made by its machine, from its state, over its edge, and the label must have
    satisfied its disjunct. The same must be true of all options below it: that makes its context the call's, too. Calls
    below the first option have not changed as long as those above them go on.
    """
    depth, height = stack.machine.shape[0], called.caller.shape[0]
    at = (stack.machine, stack.state, stack.output)
    edge, bit = options.edge[at], options.disjunct[at].astype(jnp.uint32)
    same = (
        (called.caller == stack.machine[:height])
        & (called.source == stack.state[:height])
        & (called.edge == edge[:height])
        & ((called.satisfied >> bit[:height]) & 1 == 1)
    )
    fits = jnp.zeros(depth, bool).at[:height].set(same & (jnp.arange(height) < called.depth))
    is_call = options.callee[stack.machine, stack.output] != LEAF_CALL
    running = is_running(stack)
    is_without_option = jnp.arange(depth) < stack.first
    # The running product is 1 up to the first level that does not match, and 0 from there on.
    return running & jnp.cumprod(is_without_option | (running & fits & is_call)).astype(bool)


def experiences(tables: Tables, options: OptionTables, stack: OptionStack, end: Any) -> Experience:
    """The experience of each of D options, which is valid only if the option has just achieved its goal.

    Args:
        tables: The hierarchies.
        options: The option tables.
        stack: The options that are running.
        end: The present moment, as it is stored.
    """
    at = (stack.machine, stack.state, stack.output)
    target = options.target[at]
    accepted = tables.is_accepting[stack.machine, target]
    rejected = tables.is_rejecting[stack.machine, target]
    depth = stack.machine.shape[0]
    return Experience(
        machine=stack.machine,
        state=stack.state,
        context=stack.context,
        output=stack.output,
        steps=stack.steps,
        start=stack.start,
        end=jax.tree.map(lambda x: jnp.broadcast_to(x, (depth, *jnp.shape(x))), end),
        next_state=target,
        next_context=jnp.where(target == stack.state, stack.context, TRUE_CONTEXT),
        is_accepted=accepted,
        is_terminal=accepted | rejected,
        reward=stack.reward,
    )
