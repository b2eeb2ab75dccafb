"""The compiled functions behind the Gymnasium faces: the same that a training run on the device calls."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax

from rewardmachines.envs.episodes import Episode, StepResult, advance, advance_or_begin, begin
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.lowered import verdict


class Programs:
    """Episodes of one environment, compiled; worlds and tasks are arguments, so that all faces share the functions."""

    def __init__(self, environment: AnyEnvironment, max_steps: int) -> None:
        def begin_one(world: Any, tables: Any, instance: Any, root: Any) -> tuple[Episode, Any]:
            episode = begin(environment, world, tables, instance, root)
            return episode, environment.observe(world, episode.state)

        def advance_one(world: Any, tables: Any, episode: Episode, action: Any) -> tuple[Episode, StepResult, Any]:
            after, result = advance(environment, world, tables, episode, action, max_steps=max_steps)
            return after, result, environment.observe(world, after.state)

        def advance_or_begin_one(
            world: Any, tables: Any, episode: Episode, action: Any, instance: Any, root: Any
        ) -> tuple[Episode, StepResult, Episode, Any, Any]:
            following, result, after = advance_or_begin(
                environment, world, tables, episode, action, instance=instance, root=root, max_steps=max_steps
            )
            now, last = (environment.observe(world, episode.state) for episode in (following, after))
            return following, result, after, now, last

        # Side by side, all act in one world and by one set of tables: only the other arguments have an axis in front.
        self.begin = jax.jit(begin_one)
        self.verdict = jax.jit(verdict)
        self.advance = jax.jit(advance_one)
        self.begin_all = jax.jit(jax.vmap(begin_one, in_axes=(None, None, 0, 0)))
        self.advance_all = jax.jit(jax.vmap(advance_or_begin_one, in_axes=(None, None, 0, 0, 0, 0)))


@cache
def compiled_programs(environment: AnyEnvironment, max_steps: int) -> Programs:
    """The functions of an environment, for episodes of at most so many steps; equal arguments share them."""
    return Programs(environment, max_steps)
