"""What a chunk of training is asked to begin, and what is counted while it runs."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from rewardmachines.agents.protocol import Losses
from rewardmachines.envs.episodes import Episode, StepResult


class Assignments(NamedTuple):
    """Which of T tasks is begun in which of I instances when an episode has ended."""

    root: Int32[Array, " T"]
    """The root machine of each task."""
    weight: Float[Array, "T I"]
    """How likely each pair of a task and an instance is; the weights need not sum to 1."""


class ChunkMetrics(NamedTuple):
    """What happened in a chunk, by task and instance."""

    episodes: Int32[Array, "T I"]
    """Episodes that ended."""
    goals: Int32[Array, "T I"]
    """Episodes that ended at the goal."""
    dead_ends: Int32[Array, "T I"]
    """Episodes that ended in a dead end."""
    steps: Int32[Array, "T I"]
    """Steps of the episodes that ended."""
    losses: Losses
    """The mean over the vector steps."""
    turns: Int32[Array, ""]
    """Vector steps that were taken."""


def count_step(
    assignments: Assignments,
    task: Int32[Array, " N"],
    instance: Int32[Array, " N"],
    result: StepResult,
    after: Episode,
    losses: Losses,
) -> ChunkMetrics:
    """The metrics of one vector step. Several environments may have the same task and instance: they are added up."""
    nothing = jnp.zeros(assignments.weight.shape, jnp.int32)

    def tally(counts: Array) -> Int32[Array, "T I"]:
        return nothing.at[task, instance].add(counts.astype(jnp.int32))

    return ChunkMetrics(
        episodes=tally(result.done),
        goals=tally(result.goal),
        dead_ends=tally(result.terminated & ~result.goal),
        steps=tally(jnp.where(result.done, after.steps, 0)),
        losses=losses,
        turns=jnp.int32(1),
    )


def nothing_counted(assignments: Assignments) -> ChunkMetrics:
    """The metrics of a chunk before its first step, for one seed or for several with a leading axis."""
    weight = assignments.weight
    none, nothing = jnp.zeros(weight.shape, jnp.int32), jnp.zeros(weight.shape[:-2])
    return ChunkMetrics(
        episodes=none,
        goals=none,
        dead_ends=none,
        steps=none,
        losses=Losses(formulas=nothing, calls=nothing),
        turns=nothing.astype(jnp.int32),
    )
