"""Episodes: an environment with a task beside it, a lowered hierarchy that decides reward and end.

The hierarchy advances on label *events*: a label that repeats the one before is no news. The label of the first state
is fed at the beginning. Running out of steps cuts an episode off; it does not end it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, UInt32

from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.lowered import hierarchy as lowered_hierarchy
from rewardmachines.lowered import traversal
from rewardmachines.lowered.traversal import ACCEPT, NEITHER

MAX_STEPS: Final = 1000
"""The number of steps after which an episode is cut off, unless another one is asked for."""

Tables = lowered_hierarchy.Tables


class Episode(NamedTuple):
    """The state of an episode."""

    state: Any
    """The state of the environment."""
    task: traversal.State
    """The hierarchy state of the task."""
    label: UInt32[Array, " W"]
    """The last label, which the next must differ from to be an event."""
    steps: Int32[Array, ""]
    """The number of steps so far."""


class EpisodeStep(NamedTuple):
    """The result of a step: that of the environment, and that of the hierarchy beside it."""

    label: UInt32[Array, " W"]
    """The label of the state that followed."""
    is_event: Bool[Array, ""]
    """Whether it differs from the label before."""
    reward: Float[Array, ""]
    """1 on reaching the goal, and 0 otherwise."""
    terminated: Bool[Array, ""]
    """Whether the episode ended, at the goal or in a dead end."""
    goal: Bool[Array, ""]
    truncated: Bool[Array, ""]
    """Whether the episode was cut off: it is out of steps, and has not ended."""

    @property
    def done(self) -> Bool[Array, ""]:
        """Whether the episode is over, one way or the other."""
        return self.terminated | self.truncated


def begin(
    environment: AnyEnvironment,
    world: Any,
    tables: Tables,
    instance: Int32[Array, ""] | int,
    root: Int32[Array, ""] | int,
) -> Episode:
    """The first moment of an episode.

    Args:
        environment: The environment.
        world: The arrays of its instances.
        tables: Hierarchies, that of the task among them.
        instance: The number of the instance.
        root: The machine that is the root of the task.

    Returns:
        The episode, in which the hierarchy has processed the label of the first state.
    """
    state = environment.reset(world, instance)
    label = environment.label(world, state)
    task = traversal.step(tables, traversal.initial_state(tables, root), label)
    return Episode(state, task, label, jnp.int32(0))


def advance(
    environment: AnyEnvironment,
    world: Any,
    tables: Tables,
    episode: Episode,
    action: Int32[Array, ""] | int,
    *,
    max_steps: int = MAX_STEPS,
) -> tuple[Episode, EpisodeStep]:
    """Takes one action.

    Args:
        environment: The environment.
        world: The arrays of its instances.
        tables: Hierarchies, that of the task among them.
        episode: The state of the episode.
        action: The number of the action.
        max_steps: Steps after which the episode is truncated.

    Returns:
        The state of the episode, and what the step brought. After the end of an episode both are meaningless:
        begin a new one, or use `advance_or_begin`.
    """
    after, result, _ = advance_with_calls(environment, world, tables, episode, action, max_steps=max_steps)
    return after, result


def advance_with_calls(
    environment: AnyEnvironment,
    world: Any,
    tables: Tables,
    episode: Episode,
    action: Int32[Array, ""] | int,
    *,
    max_steps: int = MAX_STEPS,
) -> tuple[Episode, EpisodeStep, traversal.State]:
    """As `advance`; also returns where the hierarchy stood when all calls had begun and none had returned."""
    state = environment.step(world, episode.state, action)
    label = environment.label(world, state)
    is_event, called, task = traversal.move_on_event(tables, episode.task, episode.label, label)
    verdict = traversal.verdict(tables, task)
    steps = episode.steps + 1
    terminated, goal = verdict != NEITHER, verdict == ACCEPT
    result = EpisodeStep(
        label=label,
        is_event=is_event,
        reward=goal.astype(jnp.float32),
        terminated=terminated,
        goal=goal,
        truncated=~terminated & (steps >= max_steps),  # an end at the last step is an end, not a lack of time
    )
    return Episode(state, task, label, steps), result, called


def advance_or_begin(
    environment: AnyEnvironment,
    world: Any,
    tables: Tables,
    episode: Episode,
    action: Int32[Array, ""] | int,
    *,
    instance: Int32[Array, ""] | int,
    root: Int32[Array, ""] | int,
    max_steps: int = MAX_STEPS,
) -> tuple[Episode, EpisodeStep, Episode]:
    """Takes one action; if it ends the episode, the next begins at once.

    Args:
        environment: The environment.
        world: The arrays of its instances.
        tables: Hierarchies, those of both tasks among them.
        episode: The state of the episode.
        action: The number of the action.
        instance: The instance of the next episode.
        root: The root of the next episode's task.
        max_steps: Steps after which an episode is truncated.

    Returns:
        Where things stand, the result of the action, and the episode as the action left it: its last observation is
        there even if a new episode has begun.
    """
    after, result = advance(environment, world, tables, episode, action, max_steps=max_steps)
    # The beginning is computed at every step and chosen where an episode is over: a batch takes both branches anyway.
    fresh = begin(environment, world, tables, instance, root)
    following = jax.tree.map(lambda new, old: jnp.where(result.done, new, old), fresh, after)
    return following, result, after
