"""What options that look ahead learn from: what is within reach where they end, and options that have failed.

What is to be expected in a state of a machine is the value of its best option there. That of a formula option is known
best by the option's own Q-function, which learns from every step; that of a call by the machine's Q-function. Where a
machine cannot go on, nothing is to be expected, so it must learn where it could not, from options that have failed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from rewardmachines.agents.hierarchical_dqn import call_q
from rewardmachines.agents.options.ahead import NO_SLOT
from rewardmachines.agents.options.ending import Ended, Experience
from rewardmachines.agents.options.stack import TRUE_CONTEXT, OptionStack
from rewardmachines.agents.options.tables import OptionTables
from rewardmachines.agents.protocol import Step


class Ahead(NamedTuple):
    """What is to be expected after a step, before it is known which options end there."""

    formulas: Float[Array, "K B"]
    """The values of the best actions, by each of the K Q-functions of formulas."""
    calls: Any
    """The networks of the Q-functions of machines."""


def worth(
    lookahead: float,
    options: OptionTables,
    expected: Ahead,
    after: Float[Array, "B ..."],
    slots: Int32[Array, " S"],
    *,
    is_bounded: bool = True,
) -> Float[Array, "S B"]:
    """What it is worth to each Q-function to have its formula satisfied, by where that happens.

    It is 1 where nothing follows, and elsewhere a mixture of 1 and the value of the best option of the machine that
    goes on. Where only hierarchies pay, values lie between 0 and 1; networks may leave these bounds, and are cut off.

    Args:
        lookahead: How much what follows counts.
        options: The options that there are, which look ahead.
        expected: What is to be expected after the steps.
        after: B observations.
        slots: The S Q-functions of formulas.
        is_bounded: Whether values lie between 0 and 1, because the environment's own rewards do not count.
    """
    ahead = options.ahead
    assert ahead is not None, "these options do not look ahead"

    def of(slot: Int32[Array, ""]) -> Float[Array, " B"]:
        machine, state = ahead.machine[slot], ahead.state[slot]
        same = jnp.broadcast_to(state, after.shape[:1])
        inputs = call_q.Inputs(after, same, jnp.full_like(same, TRUE_CONTEXT))
        calls = call_q.values(options, call_q.select(expected.calls, machine), inputs)  # [B, O]
        following = ahead.following[slot]
        values = jnp.where(following == NO_SLOT, calls, expected.formulas[following].T)
        can = options.allowed[machine, state, TRUE_CONTEXT]
        best = jnp.where(can.any(), jnp.max(jnp.where(can, values, -jnp.inf), axis=-1), 0.0)
        if is_bounded:
            best = jnp.clip(best, 0.0, 1.0)
        return jnp.where(ahead.is_end[slot], 1.0, 1 - lookahead + lookahead * best)

    return jax.lax.stop_gradient(jax.vmap(of)(slots))


def with_failures(
    experiences: Experience, stacks: OptionStack, ended: Ended, step: Step
) -> tuple[Experience, Bool[Array, "N D"]]:
    """The experiences of options that achieved their goals, and of those that an episode's end has interrupted.

    Nothing comes after a dead end. Where an episode ran out of steps the machine would have gone on in the same state,
    so the values there count as what follows.

    Args:
        experiences: Those of N environments and D options, as if all had achieved their goals.
        stacks: The options.
        ended: How they ended.
        step: The last step.

    Returns:
        The experiences, and which of them were made.
    """
    failed = ended.is_over & ~ended.is_achieved & step.is_over[:, None]
    corrected = experiences._replace(
        next_state=jnp.where(failed, stacks.state, experiences.next_state),
        next_context=jnp.where(failed, stacks.context, experiences.next_context),
        is_accepted=~failed & experiences.is_accepted,
        is_terminal=jnp.where(failed, step.is_dead_end[:, None], experiences.is_terminal),
    )
    return corrected, ended.is_achieved | failed
