"""Loops that stay fast when one program computes several runs.

`vmap` turns a loop whose end differs between runs into a loop until the last run is done, which copies the states of
all runs in every turn so that finished runs keep theirs. Networks of many Q-functions are too large for that. Here
every turn has an argument that says whether the run still goes on; in a finished run, a turn writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool

from rewardmachines.agents.batches import unless_stopped

Given = TypeVar("Given")
Now = TypeVar("Now")
IsGoing = Bool[Array, ""] | None
"""Whether a run goes on; None for a single run, which always does."""


def loop_of_runs(
    is_going: Callable[[Now], Bool[Array, ""]],
    turn: Callable[[Given, Now, IsGoing], Now],
    given: Given,
    start: Now,
) -> Now:
    """Takes turns as long as the run goes on. Under one `vmap`, every run does what it would do alone.

    Args:
        is_going: Whether the run goes on.
        turn: Computes the next state from the present state. If the run does not go on, it returns the present state.
        given: Constant arrays. A turn must not use other arrays that depend on the run.
        start: The initial state.

    Returns:
        The final state.
    """

    @custom_vmap
    def loop(given: Given, start: Now) -> Now:
        end: Now = jax.lax.while_loop(is_going, lambda now: turn(given, now, None), start)
        return end

    def loop_of_many(runs: int, is_batched: Any, given: Given, start: Now) -> tuple[Now, Any]:
        axes = jax.tree.map(lambda batched: 0 if batched else None, is_batched[0])

        def turn_or_rest(given: Given, now: Now) -> Now:
            return turn(given, now, is_going(now))

        turn_of_all = jax.vmap(turn_or_rest, in_axes=(axes, 0))
        spread = lambda batched, x: x if batched else jnp.broadcast_to(x, (runs, *x.shape))  # noqa: E731
        end = jax.lax.while_loop(
            lambda now: jax.vmap(is_going)(now).any(),
            lambda now: turn_of_all(given, now),
            jax.tree.map(spread, is_batched[1], start),
        )
        return end, jax.tree.map(lambda _: True, end)

    register: Any = loop.def_vmap  # it has no types
    register(loop_of_many)
    ended: Now = loop(given, start)
    return ended


class _Once(NamedTuple):
    """The state of a loop of one turn, and whether the turn is still to be taken."""

    now: Any
    is_left: Bool[Array, ""]


def once_if(
    ready: bool | Bool[Array, ""], work: Callable[[Given, Now, IsGoing], Now], given: Given, start: Now
) -> Now:  # fmt: skip
    """Runs `work` once if it is ready, and otherwise returns the present state. Under `vmap` as `loop_of_runs`.

    One program does both, since compiling two would take twice as long. It is a loop of one turn or none, because a
    loop changes its arrays in place, where the branches of a `cond` would copy them.

    Args:
        ready: Whether to run `work`: known when the program is compiled, or when it runs.
        work: Computes the new state. If the run does not go on, it returns the present state.
        given: Arrays that do not change, as for `loop_of_runs`.
        start: The present state.
    """
    if ready is True:
        return work(given, start, None)

    def turn(given: Given, once: _Once, is_going: IsGoing) -> _Once:
        done = _Once(work(given, once.now, is_going), jnp.zeros((), bool))
        return done if is_going is None else done._replace(is_left=unless_stopped(is_going, done.is_left, once.is_left))

    ended: Now = loop_of_runs(lambda once: once.is_left, turn, given, _Once(start, jnp.asarray(ready))).now
    return ended
