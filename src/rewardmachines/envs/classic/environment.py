"""The office world and the craft world: an agent that walks on a map and observes what its cell holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int8, Int32, UInt8, UInt16, UInt32

from rewardmachines.envs.classic.maps import ACTIONS, DIRECTIONS, ClassicMap
from rewardmachines.envs.interface import Environment


class ClassicObservation(Enum):
    """The observations of a map. Each tells all cells apart.

    PUBLISHED: the two coordinates of the agent's cell.
    ONE_HOT: a number for each cell, 1 for the agent's: a network without hidden layers then is a table.
    AXES: a number for each column and for each row, 1 for the agent's: few numbers for large maps.
    """

    PUBLISHED = "published"
    ONE_HOT = "one-hot"
    AXES = "axes"


class ClassicArrays(NamedTuple):
    """I instances of X by Y cells; what is in each cell is explained in `ClassicMap`."""

    things: Int8[Array, "I X Y"]
    moves: Bool[Array, "I X Y 4"]
    coordinates: Float32[Array, "I X Y 2"]
    start: Int32[Array, "I 2"]


class ClassicState(NamedTuple):
    """Column and row of the agent."""

    instance: Int32[Array, ""]
    x: Int32[Array, ""]
    y: Int32[Array, ""]


class ClassicMemory(NamedTuple):
    """A state in four bytes."""

    instance: UInt16[Array, ""]
    x: UInt8[Array, ""]
    y: UInt8[Array, ""]


@dataclass(frozen=True)
class ClassicGrid(Environment[ClassicArrays, ClassicState, ClassicMemory]):
    """A map with at most one thing in a cell. Actions are deterministic; those that would lead into a wall do nothing.

    `names` are the propositions, `size` is the number of columns and of rows.
    """

    names: tuple[str, ...]
    size: tuple[int, int]
    observation: ClassicObservation = ClassicObservation.PUBLISHED

    @property
    def propositions(self) -> tuple[str, ...]:
        return self.names

    @property
    def action_names(self) -> tuple[str, ...]:
        return ACTIONS

    @property
    def observation_shape(self) -> tuple[int, ...]:
        width, height = self.size
        return {
            ClassicObservation.PUBLISHED: (2,),
            ClassicObservation.ONE_HOT: (width * height,),
            ClassicObservation.AXES: (width + height,),
        }[self.observation]

    @property
    def observation_bounds(self) -> tuple[float, float]:
        return 0.0, float(max(self.size)) if self.observation is ClassicObservation.PUBLISHED else 1.0

    def reset(self, world: ClassicArrays, instance: Int32[Array, ""] | int) -> ClassicState:
        instance = jnp.asarray(instance, jnp.int32)
        start = world.start[instance]
        return ClassicState(instance, start[0], start[1])

    def step(self, world: ClassicArrays, state: ClassicState, action: Int32[Array, ""] | int) -> ClassicState:
        free = world.moves[state.instance, state.x, state.y, action]
        way = jnp.asarray(DIRECTIONS, jnp.int32)[action]
        return ClassicState(state.instance, state.x + jnp.where(free, way[0], 0), state.y + jnp.where(free, way[1], 0))

    def label(self, world: ClassicArrays, state: ClassicState) -> UInt32[Array, " W"]:
        thing = world.things[state.instance, state.x, state.y].astype(jnp.int32)
        return jnp.asarray(self._label_of_thing)[thing]

    @property
    def _label_of_thing(self) -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
        """The label of a cell, by the number of what is in it; that of 0 is empty."""
        return np.stack([self.bits.encode(set()), *(self.bits.encode({name}) for name in self.names)])

    def observe(self, world: ClassicArrays, state: ClassicState) -> Float32[Array, " N"]:
        width, height = self.size
        if self.observation is ClassicObservation.ONE_HOT:
            return jax.nn.one_hot(state.x * height + state.y, width * height, dtype=jnp.float32)
        if self.observation is ClassicObservation.AXES:
            column, row = jax.nn.one_hot(state.x, width), jax.nn.one_hot(state.y, height)
            return jnp.concatenate([column, row]).astype(jnp.float32)
        return world.coordinates[state.instance, state.x, state.y]

    def remember(self, state: ClassicState) -> ClassicMemory:
        x, y = state.x.astype(jnp.uint8), state.y.astype(jnp.uint8)
        return ClassicMemory(state.instance.astype(jnp.uint16), x, y)

    def recall(self, world: ClassicArrays, memory: ClassicMemory) -> Float32[Array, " N"]:
        return self.observe(world, ClassicState(*(part.astype(jnp.int32) for part in memory)))


def build_world(instances: Sequence[ClassicMap]) -> ClassicArrays:
    """The arrays of these instances, which share a size."""
    things, moves, coordinates = (
        np.stack([getattr(grid, name) for grid in instances]) for name in ("things", "moves", "coordinates")
    )
    starts = np.asarray([grid.start for grid in instances], np.int32)
    return ClassicArrays(*jax.device_put((things, moves, coordinates, starts)))
