"""Boxes of balls drawn at random on the device, thousands at once, as likely as those of the published generator.

They are other boxes than those of `instances`, which come from the published generator one by one. Here paths are
computed in single precision: the table is all there is, so that nothing can drift away from it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float32

from rewardmachines.envs.instance_keys import instance_key, key_of
from rewardmachines.envs.waterworld.environment import WaterArrays
from rewardmachines.envs.waterworld.instances import BALL_SPEED, BOX, RADIUS, STEP_SECONDS, WaterSetting

_BLOCK: Final = 256
"""The number of instances whose paths are computed together: with another one, the last digits may be others.
Beside the table, which has 190 kB for an instance, memory is needed for the paths of one block only."""


def draw(setting: str, seed: int, count: int, max_steps: int) -> WaterArrays:
    """Draws the arrays of instances.

    Args:
        setting: The name of the setting.
        seed: Equal seeds give equal instances on equal devices; fewer instances are the first of many.
        count: The number of instances.
        max_steps: The length of the balls' paths, and of the longest episode.

    Raises:
        RewardMachineError: There is no such seed.
    """
    world: WaterArrays = _drawn(WaterSetting(setting), count, max_steps, key_of(seed))
    return world


@partial(jax.jit, static_argnums=(0, 1, 2))
def _drawn(setting: WaterSetting, count: int, steps: int, key: Any) -> WaterArrays:
    room = max(_BLOCK, count)
    agent, balls = jax.vmap(lambda number: _start(setting, instance_key(key, number)))(jnp.arange(room))

    def fill(number: Any, table: Float32[Array, "I T B 4"]) -> Float32[Array, "I T B 4"]:
        """Writes the paths of a block in place. The last block begins early enough to be whole, and repeats some."""
        first = jnp.minimum(number * _BLOCK, room - _BLOCK)
        some = _paths(jax.lax.dynamic_slice_in_dim(balls, first, _BLOCK), steps)
        return jax.lax.dynamic_update_slice_in_dim(table, some, first, axis=0)

    table = jnp.zeros((room, steps + 1, setting.balls, 4), jnp.float32)
    return WaterArrays(jax.lax.fori_loop(0, -(-count // _BLOCK), fill, table)[:count], agent[:count])


def _start(setting: WaterSetting, key: Any) -> tuple[Float32[Array, " 2"], Float32[Array, "B 4"]]:
    """The agent, then one ball after another where there is room for it."""
    key_agent, key_angles, key_balls = jax.random.split(key, 3)
    agent = _position(key_agent)

    def place(balls: Float32[Array, "B 2"], ball: Any) -> tuple[Float32[Array, "B 2"], None]:
        number, key_first, key_others = ball

        def again(tried: Any) -> Any:
            key_next, key_rest = jax.random.split(tried[1])
            return _position(key_next), key_rest

        first = (_position(key_first), key_others)
        position, _ = jax.lax.while_loop(lambda tried: ~_has_room(tried[0], agent, balls), again, first)
        return balls.at[number].set(position), None

    nowhere = jnp.full((setting.balls, 2), jnp.inf, jnp.float32)  # far away from every ball that is placed
    keys = jax.random.split(key_balls, (setting.balls, 2))
    centres, _ = jax.lax.scan(place, nowhere, (jnp.arange(setting.balls), keys[:, 0], keys[:, 1]))
    angles = jax.random.uniform(key_angles, (setting.balls,), maxval=2 * jnp.pi)
    velocities = jnp.float32(BALL_SPEED) * jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=1)
    return agent, jnp.concatenate([centres, velocities], axis=1)


def _position(key: Any) -> Float32[Array, " 2"]:
    """A random position, up to the very edge of the box, as published."""
    return jax.random.uniform(key, (2,), minval=2 * RADIUS, maxval=BOX)


def _has_room(
    position: Float32[Array, " 2"], agent: Float32[Array, " 2"], balls: Float32[Array, "B 2"]
) -> Bool[Array, ""]:
    """Whether a ball at this position touches no other, and lies at a distance from the agent."""
    from_agent = ((position - agent) ** 2).sum()
    from_balls = ((position - balls) ** 2).sum(axis=1)
    return (from_agent > (4 * RADIUS) ** 2) & (from_balls >= (2 * RADIUS) ** 2).all()


def _paths(start: Float32[Array, "I B 4"], steps: int) -> Float32[Array, "I T B 4"]:
    """x, y, vx, vy of every ball at times 0 to `steps`."""

    def move(balls: Float32[Array, "I B 4"], _: None) -> tuple[Float32[Array, "I B 4"], Float32[Array, "I B 4"]]:
        """The motion of a ball: past a wall it is put back inside and turns round, even if it was on its way in."""
        position, velocity = balls[..., :2], balls[..., 2:]
        moved = position + velocity * jnp.float32(STEP_SECONDS)
        inside = jnp.clip(moved, RADIUS, BOX - RADIUS)
        velocity = jnp.where(inside == moved, velocity, -velocity)
        return jnp.concatenate([inside, velocity], axis=-1), balls

    _, paths = jax.lax.scan(move, start, length=steps + 1)
    return paths.swapaxes(0, 1)
