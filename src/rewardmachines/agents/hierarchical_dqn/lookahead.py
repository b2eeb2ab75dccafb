"""Learning with lookahead: the expected values where options end, and the experiences of failed options.

The expected value of a state of a machine is the value of its best option there. The best estimate for a formula option
is the option's own Q-function, which learns from every step; for a call, it is the machine's Q-function. In dead ends
the expected value is 0, so machines also learn from failed options.
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
    """The expected values after a step, whichever options end there."""

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
    """The value, for each Q-function, of satisfying its formula in each of B observations.

    The value is 1 where the task is over, and otherwise a mixture of 1 and the value of the best option of the machine
    that goes on. If only hierarchies give rewards, values lie between 0 and 1, and the outputs of networks are clipped.

    Args:
        lookahead: The weight of the value that follows.
        options: The option tables, with lookahead.
        expected: The expected values after the steps.
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
