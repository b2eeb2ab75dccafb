"""CraftWorld: an agent that turns and walks on a grid of things, and observes what it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int8, Int32, UInt8, UInt16, UInt32

from rewardmachines.envs.craftworld.instances import CraftInstance, CraftSetting
from rewardmachines.envs.craftworld.things import (
    COLOURS,
    DIRECTIONS,
    MAX_COLOUR,
    MAX_DIRECTION,
    MAX_THING,
    OBJECTS,
    CraftAction,
    Thing,
    proposition,
)
from rewardmachines.envs.interface import Environment
from rewardmachines.lowered.formula import LabelBits


class Observation(Enum):
    """The observations of the grid.

    PUBLISHED: numbers of thing, colour and direction of each cell, scaled to [-1, 1]; the agent hides what is under it.
    ONE_HOT: a plane for walls, lava and each kind of thing, and four for the agent, one for each direction.
    EGOCENTRIC: a plane for walls, lava (if the setting has any) and each kind of thing, seen from the agent. It is in
    the middle cell [R, R] and looks towards [R, 0]; to its right is [2R, R]. R is the largest distance between two
    cells in a row that are inside the outer walls, so that the agent sees every thing from everywhere. There is
    nothing outside of the grid. No plane shows the agent: it is always in the middle.
    """

    PUBLISHED = "published"
    ONE_HOT = "one-hot"
    EGOCENTRIC = "egocentric"


class CraftArrays(NamedTuple):
    """I instances of X by Y cells."""

    things: Int8[Array, "I X Y"]
    start: Int32[Array, "I 3"]
    """x, y and direction."""
    scenery: Float32[Array, "I 3 X Y"]
    """The published observation of each instance without the agent."""


class CraftState(NamedTuple):
    """Position and direction of the agent: 0 right, 1 down, 2 left, 3 up."""

    instance: Int32[Array, ""]
    x: Int32[Array, ""]
    y: Int32[Array, ""]
    direction: Int32[Array, ""]


class CraftMemory(NamedTuple):
    """A state in five bytes."""

    instance: UInt16[Array, ""]
    x: UInt8[Array, ""]
    y: UInt8[Array, ""]
    direction: UInt8[Array, ""]


_PLANES: Final = (Thing.WALL, Thing.LAVA, *OBJECTS)
"""The object that each plane of the one-hot observation shows; the planes of the agent follow."""


@dataclass(frozen=True)
class CraftWorld(Environment[CraftArrays, CraftState, CraftMemory]):
    """A grid of things. The agent observes what lies in its own cell, so a label has at most one proposition."""

    setting: CraftSetting = CraftSetting.OP
    observation: Observation = Observation.PUBLISHED

    @property
    def propositions(self) -> tuple[str, ...]:
        return tuple(map(proposition, (*OBJECTS, *([Thing.LAVA] if self.setting.has_lava else []))))

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("turn left", "turn right", "forward")

    @property
    def observation_shape(self) -> tuple[int, ...]:
        size = self.setting.size
        if self.observation is Observation.EGOCENTRIC:
            return (len(self._egocentric_planes), 2 * self._reach + 1, 2 * self._reach + 1)
        return (3 if self.observation is Observation.PUBLISHED else len(_PLANES) + 4, size, size)

    @property
    def observation_bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.observation is Observation.PUBLISHED else (0.0, 1.0)

    def reset(self, world: CraftArrays, instance: Int32[Array, ""] | int) -> CraftState:
        instance = jnp.asarray(instance, jnp.int32)
        start = world.start[instance]
        return CraftState(instance, start[0], start[1], start[2])

    def step(self, world: CraftArrays, state: CraftState, action: Int32[Array, ""] | int) -> CraftState:
        """Turns, or walks one cell ahead unless there is a wall."""
        turn = jnp.where(action == CraftAction.LEFT, -1, jnp.where(action == CraftAction.RIGHT, 1, 0))
        ahead = jnp.asarray(DIRECTIONS)[state.direction]
        walks = action == CraftAction.FORWARD
        x = state.x + jnp.where(walks, ahead[0], 0)
        y = state.y + jnp.where(walks, ahead[1], 0)
        free = world.things[state.instance, x, y] != Thing.WALL  # walls surround the grid, so x and y stay inside it
        return CraftState(
            state.instance,
            jnp.where(free, x, state.x),
            jnp.where(free, y, state.y),
            (state.direction + turn) % len(DIRECTIONS),
        )

    def label(self, world: CraftArrays, state: CraftState) -> UInt32[Array, " W"]:
        thing = world.things[state.instance, state.x, state.y]
        # A constant of the compiled program: one look-up, instead of a comparison with every kind of thing.
        return jnp.asarray(self._label_of_thing)[thing.astype(jnp.int32)]

    @property
    def _label_of_thing(self) -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
        """The label of a cell, by the number of the thing in it; empty for walls and floor."""
        bits = LabelBits(self.propositions)
        labels = np.zeros((MAX_THING + 1, bits.words), np.uint32)
        for thing in (*OBJECTS, *([Thing.LAVA] if self.setting.has_lava else [])):
            labels[thing] = bits.encode({proposition(thing)})
        return labels

    def observe(self, world: CraftArrays, state: CraftState) -> Float32[Array, "C X Y"]:
        if self.observation is Observation.EGOCENTRIC:
            return self._surroundings(world, state)
        size = self.setting.size
        in_cell = (jnp.arange(size)[:, None] == state.x) & (jnp.arange(size)[None, :] == state.y)
        if self.observation is Observation.ONE_HOT:
            planes = jnp.asarray(_PLANES)[:, None, None] == world.things[state.instance].astype(jnp.int32)
            facing = jnp.arange(len(DIRECTIONS))[:, None, None] == state.direction
            return jnp.concatenate([planes, in_cell & facing]).astype(jnp.float32)
        return jnp.where(in_cell, jnp.asarray(_AGENT)[state.direction][:, None, None], world.scenery[state.instance])

    def _surroundings(self, world: CraftArrays, state: CraftState) -> Float32[Array, "C W W"]:
        """The egocentric observation; W is the width of the window around the agent."""
        width, margin = 2 * self._reach + 1, self._reach - 1  # the agent is at least one cell away from the border
        # Outside is nothing. Were it wall, most inputs would be the same in every moment, and would drown the rest.
        padded = jnp.pad(world.things[state.instance], margin, constant_values=Thing.EMPTY)
        window = jax.lax.dynamic_slice(padded, (state.x - 1, state.y - 1), (width, width))  # the agent in the middle
        # Grids are stored as an agent sees them that looks up. Four turns and a choice are faster than single cells.
        turned = jax.lax.select_n(state.direction, *(jnp.rot90(window, turns) for turns in (3, 2, 1, 0)))
        planes = jnp.asarray(self._egocentric_planes, jnp.int8)[:, None, None] == turned
        return planes.astype(jnp.float32)

    @property
    def _reach(self) -> int:
        """The range of view in each direction: R of the egocentric observation."""
        return self.setting.size - 3

    @property
    def _egocentric_planes(self) -> tuple[Thing, ...]:
        return tuple(thing for thing in _PLANES if thing is not Thing.LAVA or self.setting.has_lava)

    def remember(self, state: CraftState) -> CraftMemory:
        x, y, direction = (part.astype(jnp.uint8) for part in (state.x, state.y, state.direction))
        return CraftMemory(state.instance.astype(jnp.uint16), x, y, direction)

    def recall(self, world: CraftArrays, memory: CraftMemory) -> Float32[Array, "C X Y"]:
        return self.observe(world, CraftState(*(part.astype(jnp.int32) for part in memory)))


def build_world(instances: Sequence[CraftInstance]) -> CraftArrays:
    """The arrays of these instances, which share a setting."""
    things = np.stack([i.things for i in instances])
    starts = np.asarray([(i.x, i.y, i.direction) for i in instances], np.int32)
    scenery = SCENERY[:, things].swapaxes(0, 1)
    # Unlike `jnp.asarray`, this compiles nothing.
    return CraftArrays(*jax.device_put((things, starts, scenery)))


def _scaled(
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]], largest: int
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The numbers scaled to [-1, 1], in the published order of float32 operations."""
    return np.float32(2) * (numbers.astype(np.float32) * np.float32(1 / largest)) - np.float32(1)


# Tables, so that the numbers are the published ones to the last bit.
_THING: Final = _scaled(np.arange(MAX_THING + 1), MAX_THING)
_COLOUR: Final = _scaled(
    np.array([COLOURS[Thing(i)] if i in set(COLOURS) else 0 for i in range(MAX_THING + 1)]), MAX_COLOUR
)
_DIRECTION: Final = _scaled(np.arange(len(DIRECTIONS)), MAX_DIRECTION)
SCENERY: Final = np.stack([_THING, _COLOUR, np.full_like(_THING, _DIRECTION[0])])
"""Thing, colour and direction that the published observation shows of a cell, by the number of the thing in it."""
_AGENT: Final = np.stack([np.full(4, _THING[Thing.AGENT]), np.full(4, _COLOUR[Thing.AGENT]), _DIRECTION], axis=1)
"""Thing, colour and direction of the agent's cell, by the direction that it looks in."""
