"""Environments of XLand-MiniGrid with labels: the suite's own dynamics inside our compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32, UInt8, UInt16, UInt32

from rewardmachines.envs.grid_words import Fact
from rewardmachines.envs.interface import Environment
from rewardmachines.envs.xland.suite import (
    ACTIONS,
    KINDS,
    VOCABULARY,
    colour_number,
    part,
    tile_numbers,
    world_of,
)
from rewardmachines.lowered.formula import WORD

_COLOURS: Final = 16
"""A tile is remembered as one number, its kind times this plus its colour."""


class XLandInstance(NamedTuple):
    """The initial state of an instance's episodes."""

    grid: np.ndarray[Any, np.dtype[np.uint8]]
    """Kind and colour of each cell, rows first."""
    position: np.ndarray[Any, np.dtype[np.int32]]
    """Row and column of the agent."""
    direction: int


class XLandArrays(NamedTuple):
    """I instances of Y by X cells."""

    grid: UInt8[Array, "I Y X 2"]
    position: Int32[Array, "I 2"]
    direction: Int32[Array, " I"]


class XLandState(NamedTuple):
    """The grid as it is now, and the agent; directions are 0 up, 1 right, 2 down, 3 left."""

    instance: Int32[Array, ""]
    grid: UInt8[Array, "Y X 2"]
    position: Int32[Array, " 2"]
    direction: Int32[Array, ""]
    pocket: UInt8[Array, " 2"]
    """Kind and colour of what the agent carries; zeros if it carries nothing."""


class XLandMemory(NamedTuple):
    """A state in a byte for each cell, and six."""

    instance: UInt16[Array, ""]
    grid: UInt8[Array, "Y X"]
    position: UInt8[Array, " 2"]
    direction: UInt8[Array, ""]
    pocket: UInt8[Array, ""]


@dataclass(frozen=True)
class XLandEnvironment(Environment[XLandArrays, XLandState, XLandMemory]):
    """A world of the suite, which the agent sees as a whole: planes of zeros and ones, channels first.

    There is a plane for walls and one for each kind of thing (for doors, one for each of their states), for each colour
    that a proposition mentions, and for each direction. What the agent carries is shown where the agent is.
    """

    identifier: str
    """The id of an environment of the suite, such as `XLand-MiniGrid-R4-9x9`."""
    meanings: tuple[tuple[str, str], ...]
    """The propositions by names of one's own, such as `("ball", "red-ball-carried")`."""
    things: tuple[str, ...] = ()
    """The objects of the grid, such as `red-ball`, in environments that leave the choice."""

    @property
    def propositions(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.meanings)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The fact that each proposition states, in their order."""
        return tuple(VOCABULARY.read(meaning) for _, meaning in self.meanings)

    @property
    def action_names(self) -> tuple[str, ...]:
        return ACTIONS

    @property
    def observation_shape(self) -> tuple[int, ...]:
        _, parameters = world_of(self.identifier, self.things)
        return (len(self._shown_kinds) + len(self._shown_colours) + 4, parameters.height, parameters.width)

    @property
    def observation_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def _shown_kinds(self) -> tuple[int, ...]:
        return tuple(number for kind in KINDS for number in tile_numbers(kind))

    @property
    def _shown_colours(self) -> tuple[int, ...]:
        return tuple(sorted({colour_number(fact.colour) for fact in self.facts if fact.colour is not None}))

    def instance(self, seed: int) -> XLandInstance:
        """The instance that the suite makes of a seed."""
        environment, parameters = world_of(self.identifier, self.things)
        begun = jax.device_get(environment.reset(parameters, jax.random.key(seed)).state)
        return XLandInstance(begun.grid, np.asarray(begun.agent.position, np.int32), int(begun.agent.direction))

    def reset(self, world: XLandArrays, instance: Int32[Array, ""] | int) -> XLandState:
        instance = jnp.asarray(instance, jnp.int32)
        nothing = jnp.zeros(2, jnp.uint8)
        return XLandState(instance, world.grid[instance], world.position[instance], world.direction[instance], nothing)

    def step(self, world: XLandArrays, state: XLandState, action: Int32[Array, ""] | int) -> XLandState:  # noqa: ARG002
        """A transition of the suite's own dynamics. Of its own step, only this part is needed.

        Views, rewards and ends are ours, and production rules, which there are none of, would take most of the time.
        """
        agent = part("types").AgentState(position=state.position, direction=state.direction, pocket=state.pocket)
        grid, agent, _ = part("core.actions").take_action(state.grid, agent, jnp.asarray(action, jnp.int32))
        direction = jnp.asarray(agent.direction, jnp.int32)
        return XLandState(state.instance, grid, jnp.asarray(agent.position, jnp.int32), direction, agent.pocket)

    def label(self, world: XLandArrays, state: XLandState) -> UInt32[Array, " W"]:  # noqa: ARG002
        facts, true = self.facts, jnp.zeros(self.bits.words * WORD, bool)
        for relation in dict.fromkeys(fact.relation for fact in facts):  # one comparison for all facts of a relation
            places = np.array([place for place, fact in enumerate(facts) if fact.relation == relation])
            true = true.at[places].set(_matches([facts[place] for place in places], _tiles(relation, state)))
        bits = jnp.left_shift(jnp.uint32(1), jnp.arange(WORD, dtype=jnp.uint32))
        return jnp.where(true.reshape(-1, WORD), bits, 0).sum(axis=1, dtype=jnp.uint32)

    def observe(self, world: XLandArrays, state: XLandState) -> Float32[Array, "C Y X"]:  # noqa: ARG002
        height, width, _ = state.grid.shape
        is_agent = (jnp.arange(height)[:, None] == state.position[0]) & (jnp.arange(width) == state.position[1])

        def planes(numbers: Sequence[int], layer: int) -> Bool[Array, "P Y X"]:
            wanted = jnp.asarray(numbers, jnp.uint8).reshape(-1, 1, 1)
            return (state.grid[..., layer] == wanted) | (is_agent & (state.pocket[layer] == wanted))

        facing = is_agent & (jnp.arange(4)[:, None, None] == state.direction)
        shown = [planes(self._shown_kinds, 0), planes(self._shown_colours, 1), facing]
        return jnp.concatenate(shown).astype(jnp.float32)

    def remember(self, state: XLandState) -> XLandMemory:
        return XLandMemory(
            instance=state.instance.astype(jnp.uint16),
            grid=_packed(state.grid),
            position=state.position.astype(jnp.uint8),
            direction=state.direction.astype(jnp.uint8),
            pocket=_packed(state.pocket),
        )

    def recall(self, world: XLandArrays, memory: XLandMemory) -> Float32[Array, "C Y X"]:
        state = XLandState(
            instance=memory.instance.astype(jnp.int32),
            grid=_unpacked(memory.grid),
            position=memory.position.astype(jnp.int32),
            direction=memory.direction.astype(jnp.int32),
            pocket=_unpacked(memory.pocket),
        )
        return self.observe(world, state)


def build_world(instances: Sequence[XLandInstance]) -> XLandArrays:
    """The arrays of these instances."""
    grids, positions, directions = (np.stack(part) for part in zip(*instances, strict=True))
    return XLandArrays(*jax.device_put((grids, positions.astype(np.int32), directions.astype(np.int32))))


def _packed(tiles: UInt8[Array, "*S 2"]) -> UInt8[Array, "*S"]:
    return tiles[..., 0] * _COLOURS + tiles[..., 1]


def _unpacked(packed: UInt8[Array, "*S"]) -> UInt8[Array, "*S 2"]:
    return jnp.stack([packed // _COLOURS, packed % _COLOURS], axis=-1)


def _tiles(relation: str, state: XLandState) -> UInt8[Array, "T 2"]:
    """The tiles of which one must be the thing that a fact speaks of."""
    row, column = state.position[0], state.position[1]
    if relation == "carried":
        return state.pocket[None]
    if relation == "here":
        return state.grid[row, column][None]
    if relation == "ahead":
        ahead = part("core.constants").DIRECTIONS[state.direction]
        # Every world of the suite has walls around it, so no view leads over the edge.
        return state.grid[row + ahead[0], column + ahead[1]][None]
    return state.grid.reshape(-1, 2)


def _matches(facts: Sequence[Fact], tiles: UInt8[Array, "T 2"]) -> Bool[Array, " F"]:
    """For each fact, whether one of the tiles is what it speaks of."""
    # Both tables are constants of the compiled program. A proposition without a colour means all colours.
    kinds = np.zeros((len(facts), 256), bool)
    colours = np.zeros((len(facts), 256), bool)
    for number, fact in enumerate(facts):
        numbers = tile_numbers(fact.kind)
        kinds[number, [numbers[_DOORS.index(fact.relation)]] if fact.relation in _DOORS else list(numbers)] = True
        colours[number, slice(None) if fact.colour is None else colour_number(fact.colour)] = True
    found = (
        jnp.asarray(kinds)[:, tiles[:, 0].astype(jnp.int32)] & jnp.asarray(colours)[:, tiles[:, 1].astype(jnp.int32)]
    )
    return found.any(axis=1)


_DOORS: Final = ("locked", "closed", "open")
"""States of doors, in the order of `tile_numbers`."""
