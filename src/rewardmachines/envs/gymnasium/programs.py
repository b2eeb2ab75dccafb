"""The compiled functions behind the Gymnasium faces: the same that a training run on the device calls."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from rewardmachines.envs.episodes import Episode, StepResult, advance, begin
from rewardmachines.envs.interface import AnyEnvironment


class Programs:
    """The compiled functions of one environment. Worlds and tasks are arguments, so that all faces share them.

    One episode at a time needs the environment's half only: a program of so few numbers spends its time on starting
    its operations, of which a traversal has many, and the core traverses in less time than one of them takes.
    """

    def __init__(self, environment: AnyEnvironment, max_steps: int) -> None:
        def seen(world: Any, state: Any) -> tuple[Any, Any, Any]:
            return state, environment.label(world, state), environment.observe(world, state)

        def begin_one(world: Any, tables: Any, instance: Any, root: Any) -> tuple[Episode, Any]:
            episode = begin(environment, world, tables, instance, root)
            return episode, environment.observe(world, episode.state)

        def advance_one(world: Any, tables: Any, episode: Episode, action: Any) -> tuple[Episode, StepResult, Any]:
            after, result = advance(environment, world, tables, episode, action, max_steps=max_steps)
            return after, result, environment.observe(world, after.state)

        begin_all = jax.vmap(begin_one, in_axes=(None, None, 0, 0))

        def begin_some(
            world: Any, tables: Any, episodes: Episode, which: Any, instances: Any, roots: Any
        ) -> tuple[Episode, Any]:
            begun, observations = begin_all(world, tables, instances, roots)

            def following(one: Any, episode: Episode) -> Any:
                return jax.tree.map(lambda new, old: jnp.where(one < 0, old, new[one]), begun, episode)

            return jax.vmap(following)(which, episodes), observations

        self.first = jax.jit(lambda world, instance: seen(world, environment.reset(world, instance)))
        self.next = jax.jit(lambda world, state, action: seen(world, environment.step(world, state, action)))
        # Side by side, all act in one world and by one set of tables: only the other arguments have an axis in front.
        self.begin_all = jax.jit(begin_all)
        self.advance_all = jax.jit(jax.vmap(advance_one, in_axes=(None, None, 0, 0)))
        # Few episodes end at a time: as many new ones begin, and replace those for which `which` has their
        # numbers; it is -1 for those that go on.
        self.begin_some = jax.jit(begin_some)


@cache
def compiled_programs(environment: AnyEnvironment, max_steps: int) -> Programs:
    """The functions of an environment, for episodes of at most `max_steps`; equal arguments share them."""
    return Programs(environment, max_steps)
