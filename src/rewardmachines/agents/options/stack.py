"""Options at work: the stack of running options, and what becomes of it when the hierarchy moves.

Written for one environment; a batch is a `vmap`.

An option has a *level*: the number of calls below the machine that chose it. If its own call begins, that is the call
at the same position of the hierarchy's call stack, and this is how an option is told from all others: no two options,
and no two calls, have the same level. Options are stored by level, so the option at index i belongs to the call at
index i. A stack need not begin at level 0. Where calls were going on before anybody chose an option (an exploratory
guide has just ended below the root), the lowest options are missing, and nothing is learned about those calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.options.tables import LEAF_CALL, OptionTables
from rewardmachines.lowered import State, Tables
from rewardmachines.lowered.formula import holds

TRUE_CONTEXT = 0


class OptionStack(NamedTuple):
    """One option for each of D levels, shallowest first; those from level `first` to `size - 1` are running."""

    first: Int32[Array, ""]
    """Calls below this level began without an option: nobody chose them."""
    size: Int32[Array, ""]
    machine: Int32[Array, " D"]
    """That chose the option."""
    state: Int32[Array, " D"]
    context: Int32[Array, " D"]
    output: Int32[Array, " D"]
    steps: Int32[Array, " D"]
    start: Any
    """What the environment remembers of the moment when each option began."""


class Place(NamedTuple):
    """Where the next option is to be chosen."""

    machine: Int32[Array, ""]
    state: Int32[Array, ""]
    context: Int32[Array, ""]
    is_needed: Bool[Array, ""]
    """Whether there is one to be chosen at all."""


class Ended(NamedTuple):
    """For each option on the stack: whether it is over, and whether it achieved its goal."""

    is_over: Bool[Array, " D"]
    is_achieved: Bool[Array, " D"]


class Experience(NamedTuple):
    """What an option that achieved its goal tells the machine that chose it."""

    machine: Int32[Array, ""]
    state: Int32[Array, ""]
    context: Int32[Array, ""]
    output: Int32[Array, ""]
    steps: Int32[Array, ""]
    start: Any
    end: Any
    next_state: Int32[Array, ""]
    next_context: Int32[Array, ""]
    is_accepted: Bool[Array, ""]
    is_terminal: Bool[Array, ""]


def empty_stack(depth: int, memory: Any) -> OptionStack:
    """A stack without options, for a hierarchy that has not called anything.

    Args:
        depth: How many levels there are.
        memory: Any moment as the environment remembers it.
    """
    zero, nothing = jnp.int32(0), jnp.zeros(depth, jnp.int32)
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (depth, *jnp.shape(x))), memory)
    return OptionStack(zero, zero, nothing, nothing, nothing, nothing, nothing, start)


def cleared(stack: OptionStack, calls: Int32[Array, ""], when: Bool[Array, ""]) -> OptionStack:
    """Without any option, for a hierarchy with so many calls on its stack, none of which was chosen by anybody."""
    return stack._replace(first=jnp.where(when, calls, stack.first), size=jnp.where(when, calls, stack.size))


def begun(options: OptionTables, depth: int, state: State, now: Any, key: PRNGKeyArray) -> OptionStack:
    """The stack at the beginning of an episode, whose first label may have started calls already.

    They were not chosen, but in hindsight they have options like all calls that begin with a label. These begin `now`.
    """
    stack, nobody = empty_stack(depth, now), jnp.zeros(depth, bool)
    return align(options, stack, nobody, state, now, key, steps=0)


def is_running(stack: OptionStack) -> Bool[Array, " D"]:
    """Which levels have an option."""
    level = jnp.arange(stack.machine.shape[0])
    return (level >= stack.first) & (level < stack.size)


def is_formula(options: OptionTables, stack: OptionStack) -> Bool[Array, ""]:
    """Whether the last option is a formula option, so that an action can be chosen."""
    last = jnp.maximum(stack.size - 1, 0)
    return (stack.size > stack.first) & (options.callee[stack.machine[last], stack.output[last]] == LEAF_CALL)


def formula(options: OptionTables, stack: OptionStack) -> Int32[Array, ""]:
    """The number of the formula that the last option is after; without meaning unless it is a formula option."""
    last = jnp.maximum(stack.size - 1, 0)
    return options.child[stack.machine[last], stack.context[last], stack.output[last]]


def place(tables: Tables, options: OptionTables, stack: OptionStack, state: State, chosen: Int32[Array, ""]) -> Place:
    """Where to choose next; `chosen` is how many options were chosen in this go.

    The first is chosen where the hierarchy stands, under no context, the others in the initial state of the machine
    just called.
    """
    last = jnp.maximum(stack.size - 1, 0)
    caller, context, output = stack.machine[last], stack.context[last], stack.output[last]
    callee = jnp.maximum(options.callee[caller, output], 0)
    is_first = chosen == 0
    return Place(
        jnp.where(is_first, state.machine, callee),
        jnp.where(is_first, state.state, tables.initial[callee]),
        jnp.where(is_first, TRUE_CONTEXT, options.child[caller, context, output]),
        ~is_formula(options, stack),
    )


def allowed(options: OptionTables, at: Place) -> Bool[Array, " O"]:
    return options.allowed[at.machine, at.state, at.context]


def push(
    stack: OptionStack,
    at: Place,
    output: Int32[Array, ""],
    start: Any,
    when: Bool[Array, ""],
    steps: Int32[Array, ""] | int = 0,
) -> OptionStack:
    """One more option, that began at `start` so many steps ago."""
    is_new = (jnp.arange(stack.machine.shape[0]) == stack.size) & when

    def put(old: Array, new: Any) -> Array:
        mask = is_new.reshape(-1, *[1] * (old.ndim - 1))
        return jnp.where(mask, new, old)

    return OptionStack(
        stack.first,
        stack.size + when.astype(jnp.int32),
        put(stack.machine, at.machine),
        put(stack.state, at.state),
        put(stack.context, at.context),
        put(stack.output, output),
        put(stack.steps, steps),
        jax.tree.map(put, stack.start, start),
    )


def one_step_more(stack: OptionStack) -> OptionStack:
    return stack._replace(steps=stack.steps + is_running(stack))


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
    """Which options are over after a step, given the two halves of the hierarchy's move.

    As long as the hierarchy stands still, so do the options. When it moves, the formula option is over, and so are the
    call options whose calls are not on its stack. At the end of an episode all are.
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
    return running & jnp.cumprod(is_without_option | (running & fits & is_call)).astype(bool)


def experiences(tables: Tables, options: OptionTables, stack: OptionStack, end: Any) -> Experience:
    """What each option on the stack tells if it has just achieved its goal: D of them."""
    at = (stack.machine, stack.state, stack.output)
    target = options.target[at]
    accepted = tables.is_accepting[stack.machine, target]
    rejected = tables.is_rejecting[stack.machine, target]
    depth = stack.machine.shape[0]
    return Experience(
        stack.machine,
        stack.state,
        stack.context,
        stack.output,
        stack.steps,
        stack.start,
        jax.tree.map(lambda x: jnp.broadcast_to(x, (depth, *jnp.shape(x))), end),
        target,
        jnp.where(target == stack.state, stack.context, TRUE_CONTEXT),
        accepted,
        accepted | rejected,
    )


def align(
    options: OptionTables,
    stack: OptionStack,
    over: Bool[Array, " D"],
    after: State,
    now: Any,
    key: PRNGKeyArray,
    *,
    steps: int = 1,
) -> OptionStack:
    """Without the options that are over, and with those that the hierarchy has begun instead, in hindsight.

    These inherit context, beginning and length of the shallowest option that is over. If none is, nobody had chosen
    any: they began so many `steps` ago, at the moment `now`.
    """
    depth, height = stack.machine.shape[0], after.caller.shape[0]
    kept = stack.first + (~over & is_running(stack)).sum(dtype=jnp.int32)
    heir = over.any()
    origin = jnp.minimum(kept, depth - 1)  # the shallowest that is over
    context = jnp.where(heir, stack.context[origin], TRUE_CONTEXT)
    length = jnp.where(heir, stack.steps[origin], steps)
    start = jax.tree.map(lambda x, y: jnp.where(heir, x[origin], y), stack.start, now)
    # Calls that had no option may have returned. Nothing begins in the same step, so the stack is then empty.
    is_below = after.depth < stack.first
    aligned = stack._replace(
        first=jnp.minimum(stack.first, after.depth), size=jnp.where(is_below, after.depth, kept)
    )  # fmt: skip
    for i, one_key in enumerate(jax.random.split(key, height)):
        is_new = (i >= kept) & (i < after.depth)
        caller, source = jnp.maximum(after.caller[i], 0), jnp.maximum(after.source[i], 0)
        disjunct = _one_of(after.satisfied[i], options.output.shape[-1], one_key)
        output = options.output[caller, source, jnp.maximum(after.edge[i], 0), disjunct]
        at = Place(caller, source, context, is_new)
        aligned = push(aligned, at, output, start, is_new, length)
        context = jnp.where(is_new, options.child[caller, context, output], context)
    return aligned


def _one_of(bits: UInt32[Array, ""], count: int, key: PRNGKeyArray) -> Int32[Array, ""]:
    """A random one of the bits that are set."""
    is_set = (bits >> jnp.arange(count, dtype=jnp.uint32)) & 1 == 1
    noise: Float[Array, " D"] = jax.random.uniform(key, (count,))
    return jnp.argmax(jnp.where(is_set, noise, -1.0)).astype(jnp.int32)
