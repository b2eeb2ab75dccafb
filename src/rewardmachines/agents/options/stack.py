"""The stack of running options: which are chosen, which end with a step, and how the rest is aligned with the calls.

Everything is written for one environment; a batch is a `vmap`.

An option has a *level*: the number of calls below the machine that chose it. If its own call begins, that is the call
at the same position of the hierarchy's call stack. The level identifies an option: no two options, and no two calls,
have the same level. Options are stored by level, so the option at index i belongs to the call at index i. A stack need
not begin at level 0. If calls began before any option was chosen (an exploration option has just ended below the root),
the lowest options are missing, and nothing is learned about those calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.options.tables import LEAF_CALL, OptionTables
from rewardmachines.agents.protocol import Step
from rewardmachines.lowered import State, Tables
from rewardmachines.lowered.formula import holds

TRUE_CONTEXT = 0
"""The number of the context `true`, the first of every option set."""


class OptionStack(NamedTuple):
    """One option for each of D levels, shallowest first; those from level `first` to `size - 1` are running."""

    first: Int32[Array, ""]
    """The level of the shallowest option. Calls below this level began without an option."""
    size: Int32[Array, ""]
    """One more than the level of the deepest option."""
    machine: Int32[Array, " D"]
    """The machine that chose the option."""
    state: Int32[Array, " D"]
    """The state of that machine when the option was chosen."""
    context: Int32[Array, " D"]
    """The context under which it was chosen."""
    output: Int32[Array, " D"]
    """The output of the machine that was chosen."""
    steps: Int32[Array, " D"]
    """The number of steps for which the option has run."""
    start: Any
    """The moment when each option began, as it is stored."""
    held: Int32[Array, ""] | None = None
    """The last action, if random actions persist; -1 at the beginning of an episode."""
    reward: Float[Array, " D"] | None = None
    """The environment's own reward since each option began, weighted and discounted; None if its weight is 0."""


class ChoicePoint(NamedTuple):
    """The machine, state and context in which the next option is to be chosen."""

    machine: Int32[Array, ""]
    state: Int32[Array, ""]
    context: Int32[Array, ""]
    is_needed: Bool[Array, ""]
    """Whether another option is needed at all."""


def empty_stack(depth: int, memory: Any) -> OptionStack:
    """A stack without options, for a hierarchy that has not called anything.

    Args:
        depth: The number of levels.
        memory: Any moment, as it is stored.
    """
    zero, nothing = jnp.int32(0), jnp.zeros(depth, jnp.int32)
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (depth, *jnp.shape(x))), memory)
    return OptionStack(
        first=zero,
        size=zero,
        machine=nothing,
        state=nothing,
        context=nothing,
        output=nothing,
        steps=nothing,
        start=start,
    )


def cleared(stack: OptionStack, calls: Int32[Array, ""], when: Bool[Array, ""]) -> OptionStack:
    """The empty stack where `when` is true, and the same stack otherwise.

    Args:
        stack: The options before.
        calls: The number of calls on the hierarchy's stack, which go on without options.
        when: Whether to clear the stack.
    """
    return stack._replace(first=jnp.where(when, calls, stack.first), size=jnp.where(when, calls, stack.size))


def begun(options: OptionTables, depth: int, state: State, now: Any, key: PRNGKeyArray) -> OptionStack:
    """The stack at the beginning of an episode, whose first label may have started calls already.

    Those calls were not chosen, but are given options in hindsight, like all calls that begin with a label.

    Args:
        options: The option tables.
        depth: The number of levels of the stack.
        state: The state of the hierarchy after the first label.
        now: The first moment, when these options begin.
        key: The random key, for choosing among disjuncts that the label satisfies.
    """
    stack, nobody = empty_stack(depth, now), jnp.zeros(depth, bool)
    return align(options, stack, nobody, state, now, key, steps=0)


def is_running(stack: OptionStack) -> Bool[Array, " D"]:
    """The mask of levels with a running option."""
    level = jnp.arange(stack.machine.shape[0])
    return (level >= stack.first) & (level < stack.size)


def is_formula(options: OptionTables, stack: OptionStack) -> Bool[Array, ""]:
    """Whether the last option is a formula option, so that an action can be chosen."""
    last = jnp.maximum(stack.size - 1, 0)
    return (stack.size > stack.first) & (options.callee[stack.machine[last], stack.output[last]] == LEAF_CALL)


def formula(options: OptionTables, stack: OptionStack) -> Int32[Array, ""]:
    """The number of the last option's formula; valid only for a formula option."""
    last = jnp.maximum(stack.size - 1, 0)
    return options.child[stack.machine[last], stack.context[last], stack.output[last]]


def slot(tables: Tables, options: OptionTables, stack: OptionStack) -> Int32[Array, ""]:
    """The number of the Q-function that the last option acts by; valid only for a formula option.

    With lookahead, the Q-function also depends on the place where the task goes on: the deepest machine that does not
    accept when the option that it has chosen is achieved. All machines called below it have then accepted.

    Args:
        tables: The hierarchies.
        options: The option tables.
        stack: The options that are running.
    """
    number = formula(options, stack)
    if options.ahead is None:
        return options.slot[number]
    states = tables.is_accepting.shape[1]
    target = options.target[stack.machine, stack.state, stack.output]
    goes_on = is_running(stack) & ~tables.is_accepting[stack.machine, target]
    place = stack.machine * states + target
    last = stack.machine.shape[0] - 1 - jnp.argmax(goes_on[::-1])
    end = options.ahead.slot.shape[1] - 1
    return options.ahead.slot[number, jnp.where(goes_on.any(), place[last], end)]


def next_choice(
    tables: Tables, options: OptionTables, stack: OptionStack, state: State, chosen: Int32[Array, ""]
) -> ChoicePoint:
    """The choice point of the next option.

    The first option is chosen in the present state of the hierarchy, under the context `true`, each further option in
    the initial state of the machine that the previous option would call.

    Args:
        tables: The hierarchies.
        options: The option tables.
        stack: The options that are running.
        state: The state of the hierarchy.
        chosen: The number of options chosen while the stack is being filled.
    """
    last = jnp.maximum(stack.size - 1, 0)
    caller, context, output = stack.machine[last], stack.context[last], stack.output[last]
    callee = jnp.maximum(options.callee[caller, output], 0)  # for the leaf, any machine number: there is no choice
    is_first = chosen == 0
    return ChoicePoint(
        machine=jnp.where(is_first, state.machine, callee),
        state=jnp.where(is_first, state.state, tables.initial[callee]),
        context=jnp.where(is_first, TRUE_CONTEXT, options.child[caller, context, output]),
        is_needed=~is_formula(options, stack),
    )


def allowed(options: OptionTables, at: ChoicePoint) -> Bool[Array, " O"]:
    """The mask of outputs that can be chosen at a choice point."""
    return options.allowed[at.machine, at.state, at.context]


def push(
    stack: OptionStack,
    at: ChoicePoint,
    output: Int32[Array, ""],
    start: Any,
    when: Bool[Array, ""],
    steps: Int32[Array, ""] | int = 0,
    reward: Float[Array, ""] | float = 0.0,
) -> OptionStack:
    """The stack with one more option where `when` is true, and the same stack otherwise.

    Args:
        stack: The options before.
        at: The choice point of the option.
        output: The chosen output.
        start: The moment when the option began, as it is stored.
        when: Whether to push it.
        steps: The number of steps since the option began.
        reward: The environment's own reward since then.
    """
    # The level is known only when the program runs, so a mask over all D levels selects the one that is written.
    is_new = (jnp.arange(stack.machine.shape[0]) == stack.size) & when

    def put(old: Array, new: Any) -> Array:
        mask = is_new.reshape(-1, *[1] * (old.ndim - 1))
        return jnp.where(mask, new, old)

    return stack._replace(
        size=stack.size + when.astype(jnp.int32),
        machine=put(stack.machine, at.machine),
        state=put(stack.state, at.state),
        context=put(stack.context, at.context),
        output=put(stack.output, output),
        steps=put(stack.steps, steps),
        start=jax.tree.map(put, stack.start, start),
        reward=None if stack.reward is None else put(stack.reward, reward),
    )


def one_step_more(stack: OptionStack, paid: Float[Array, ""] | None = None, *, discount: float = 1.0) -> OptionStack:
    """The stack after a step: each option that is running has run one step more.

    Args:
        stack: The options before.
        paid: The environment's own reward of the step; None if its weight is 0.
        discount: The discount of later rewards, for each step since the option began.
    """
    running = is_running(stack)
    after = stack._replace(steps=stack.steps + running)
    if paid is None or stack.reward is None:
        return after
    present = discount ** stack.steps.astype(jnp.float32) * paid
    return after._replace(reward=stack.reward + jnp.where(running, present, 0.0))


def align(
    options: OptionTables,
    stack: OptionStack,
    over: Bool[Array, " D"],
    after: State,
    now: Any,
    key: PRNGKeyArray,
    paid: Float[Array, ""] | None = None,
    *,
    steps: int = 1,
) -> OptionStack:
    """The stack without the options that are over, and with options in hindsight for calls that began instead.

    Options in hindsight inherit context, beginning, length and reward of the shallowest option that is over. If none is
    over, no option was running there: they began `steps` steps ago, at the moment `now`.

    Args:
        options: The option tables.
        stack: The options that were running.
        over: The mask of options that are over.
        after: Where the hierarchy stands now.
        now: The moment before the step, as it is stored.
        key: The random key, for choosing among disjuncts that the label satisfied.
        paid: The environment's own reward since that moment; None if its weight is 0.
        steps: The number of steps since that moment.
    """
    depth, height = stack.machine.shape[0], after.caller.shape[0]
    kept = stack.first + (~over & is_running(stack)).sum(dtype=jnp.int32)
    heir = over.any()
    origin = jnp.minimum(kept, depth - 1)  # the shallowest that is over
    context = jnp.where(heir, stack.context[origin], TRUE_CONTEXT)
    length = jnp.where(heir, stack.steps[origin], steps)
    start = jax.tree.map(lambda x, y: jnp.where(heir, x[origin], y), stack.start, now)
    since = 0.0 if paid is None else paid
    reward = since if stack.reward is None else jnp.where(heir, stack.reward[origin], since)
    # Calls without options may have returned. No call begins in the same step, so the stack is then empty.
    is_below = after.depth < stack.first
    aligned = stack._replace(
        first=jnp.minimum(stack.first, after.depth), size=jnp.where(is_below, after.depth, kept)
    )  # fmt: skip
    # Levels are pushed one after the other, since each has the context that the previous level passes down.
    for i, one_key in enumerate(jax.random.split(key, height)):
        is_new = (i >= kept) & (i < after.depth)
        caller, source = jnp.maximum(after.caller[i], 0), jnp.maximum(after.source[i], 0)  # -1 where there is no call
        disjunct = _one_of(after.satisfied[i], options.output.shape[-1], one_key)
        output = options.output[caller, source, jnp.maximum(after.edge[i], 0), disjunct]
        at = ChoicePoint(machine=caller, state=source, context=context, is_needed=is_new)
        aligned = push(aligned, at, output, start, is_new, length, reward)
        context = jnp.where(is_new, options.child[caller, context, output], context)
    return aligned


def _one_of(bits: UInt32[Array, ""], count: int, key: PRNGKeyArray) -> Int32[Array, ""]:
    """The number of a bit that is set, at random among `count` of them."""
    is_set = (bits >> jnp.arange(count, dtype=jnp.uint32)) & 1 == 1
    noise: Float[Array, " D"] = jax.random.uniform(key, (count,))
    return jnp.argmax(jnp.where(is_set, noise, -1.0)).astype(jnp.int32)


# -- options that end


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


def with_failures(
    experiences: Experience, stacks: OptionStack, ended: Ended, step: Step
) -> tuple[Experience, Bool[Array, "N D"]]:
    """The experiences of options that achieved their goals, and of options that the end of an episode interrupted.

    After a dead end, the value is 0. After a truncation, the machine would have gone on in the same state, so the
    transition bootstraps from the values there.

    Args:
        experiences: The experiences of N environments and D options, as if all options had achieved their goals.
        stacks: The options.
        ended: The ends of the options.
        step: The last step.

    Returns:
        The experiences, and the mask of those that were made.
    """
    failed = ended.is_over & ~ended.is_achieved & step.is_over[:, None]
    corrected = experiences._replace(
        next_state=jnp.where(failed, stacks.state, experiences.next_state),
        next_context=jnp.where(failed, stacks.context, experiences.next_context),
        is_accepted=~failed & experiences.is_accepted,
        is_terminal=jnp.where(failed, step.is_dead_end[:, None], experiences.is_terminal),
    )
    return corrected, ended.is_achieved | failed
