"""WaterWorld: an agent that speeds up and down among balls in a box, and observes the colours that it touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int32, UInt16, UInt32

from rewardmachines.envs.interface import Environment
from rewardmachines.envs.waterworld.instances import (
    BOX,
    PER_COLOUR,
    RADIUS,
    STEP_SECONDS,
    WaterInstance,
    WaterSetting,
    ball_paths,
)

PUSH: Final = 30.0
MAX_SPEED: Final = 90.0
MAX_RELATIVE_SPEED: Final = 120.0


class WaterAction(IntEnum):
    """The actions: speed up in one of four directions, or do nothing."""

    UP = 0
    DOWN = 1
    LEFT = 2
    RIGHT = 3
    NONE = 4


_OWN_SCALE: Final = np.array([1 / BOX, 1 / BOX, 1 / MAX_SPEED, 1 / MAX_SPEED], np.float32)
_RELATIVE_SCALE: Final = np.array([1 / BOX, 1 / BOX, 1 / MAX_RELATIVE_SPEED, 1 / MAX_RELATIVE_SPEED], np.float32)
_PUSHES: Final = np.array([(0, PUSH), (0, -PUSH), (-PUSH, 0), (PUSH, 0), (0, 0)], np.float32)


class WaterArrays(NamedTuple):
    """I instances, T moments, B balls: x, y, vx, vy of each ball, and where the agent starts."""

    balls: Float32[Array, "I T B 4"]
    start: Float32[Array, "I 2"]


class WaterState(NamedTuple):
    """Position and velocity of the agent, and the time: an index into the balls' paths."""

    instance: Int32[Array, ""]
    time: Int32[Array, ""]
    position: Float32[Array, 2]
    velocity: Float32[Array, 2]


class WaterMemory(NamedTuple):
    """Twenty bytes: the balls follow from the time."""

    instance: UInt16[Array, ""]
    time: UInt16[Array, ""]
    position: Float32[Array, 2]
    velocity: Float32[Array, 2]


@dataclass(frozen=True)
class WaterWorld(Environment[WaterArrays, WaterState, WaterMemory]):
    """A box of moving balls. Several can be touched at once, so labels have any number of propositions."""

    setting: WaterSetting = WaterSetting.WOD

    @property
    def propositions(self) -> tuple[str, ...]:
        return self.setting.colours

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("up", "down", "left", "right", "none")

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (4 + 4 * self.setting.balls,)

    @property
    def observation_bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def reset(self, world: WaterArrays, instance: Int32[Array, ""] | int) -> WaterState:
        instance = jnp.asarray(instance, jnp.int32)
        return WaterState(instance, jnp.int32(0), world.start[instance], jnp.zeros(2, jnp.float32))

    def step(self, world: WaterArrays, state: WaterState, action: Int32[Array, ""] | int) -> WaterState:
        """Changes the velocity, then moves; walls throw back."""
        velocity = jnp.clip(state.velocity + jnp.asarray(_PUSHES)[action], -MAX_SPEED, MAX_SPEED)
        # Speeds are multiples of 30, so a step is a whole number; rounded, it is the same however it is compiled.
        moved = state.position + jnp.round(velocity * jnp.float32(STEP_SECONDS))
        position = jnp.clip(moved, RADIUS, BOX - RADIUS)
        velocity = jnp.where(position == moved, velocity, -velocity)
        last = world.balls.shape[1] - 1  # paths end there, and time stands still after them
        return WaterState(state.instance, jnp.minimum(state.time + 1, last), position, velocity)

    def label(self, world: WaterArrays, state: WaterState) -> UInt32[Array, " W"]:
        """The colours of all balls that touch the agent."""
        balls = world.balls[state.instance, state.time, :, :2]
        squared_distance = ((balls - state.position) ** 2).sum(axis=-1)
        # Balls of one colour are neighbours in the table, and colours are in the order of the propositions.
        touches = (squared_distance <= (2 * RADIUS) ** 2).reshape(-1, PER_COLOUR).any(axis=-1)
        bits = jnp.left_shift(jnp.uint32(1), jnp.arange(touches.shape[0], dtype=jnp.uint32))
        return jnp.where(touches, bits, jnp.uint32(0)).sum(dtype=jnp.uint32)[None]

    def observe(self, world: WaterArrays, state: WaterState) -> Float32[Array, " N"]:
        """The agent, then every ball relative to it."""
        agent = jnp.concatenate([state.position, state.velocity])
        relative = world.balls[state.instance, state.time] - agent
        return jnp.concatenate([agent * _OWN_SCALE, (relative * _RELATIVE_SCALE).reshape(-1)])

    def remember(self, state: WaterState) -> WaterMemory:
        instance, time = state.instance.astype(jnp.uint16), state.time.astype(jnp.uint16)
        return WaterMemory(instance, time, state.position, state.velocity)

    def recall(self, world: WaterArrays, memory: WaterMemory) -> Float32[Array, " N"]:
        instance, time = memory.instance.astype(jnp.int32), memory.time.astype(jnp.int32)
        return self.observe(world, WaterState(instance, time, memory.position, memory.velocity))


def build_world(instances: Sequence[WaterInstance], steps: int) -> WaterArrays:
    """The arrays of these instances, with the balls' paths for episodes of at most `max_steps`."""
    paths = np.stack([ball_paths(i, steps) for i in instances]).astype(np.float32)
    # Unlike `jnp.asarray`, this compiles nothing.
    return WaterArrays(*jax.device_put((paths, np.asarray([i.agent for i in instances], np.float32))))
