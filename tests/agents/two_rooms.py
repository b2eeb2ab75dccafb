"""A tiny world: two rooms joined by a door, a key in one, a button and a goal in the other.

A . # . b
. . # . .
. . . . .
k . # . g
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, UInt32

from rewardmachines.envs.interface import Environment

PLAN = ("A.#.b", "..#..", ".....", "k.#.g")
ROWS, COLUMNS = len(PLAN), len(PLAN[0])
CELLS = ROWS * COLUMNS
MOVES = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)], np.int32)
"""Up, down, left, right."""
WALLS = np.array([[cell == "#" for cell in row] for row in PLAN])
PROPOSITIONS = ("k", "b", "g")
START, DOOR = 0, 12
"""The cell where the agent begins, and the cell between the rooms."""


class RoomState(NamedTuple):
    cell: Int32[Array, ""]
    instance: Int32[Array, ""]


@dataclass(frozen=True)
class TwoRooms(Environment[None, RoomState, Int32[Array, ""]]):
    """Equal to all of its kind that begin in the same cell."""

    start: int = START

    @property
    def propositions(self) -> tuple[str, ...]:
        return PROPOSITIONS

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("up", "down", "left", "right")

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (CELLS,)

    @property
    def observation_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reset(self, world: Any, instance: Int32[Array, ""] | int) -> RoomState:
        return RoomState(jnp.int32(self.start), jnp.asarray(instance, jnp.int32))

    def step(self, world: Any, state: RoomState, action: Int32[Array, ""] | int) -> RoomState:
        row, column = jnp.asarray(MOVES)[action] + jnp.stack([state.cell // COLUMNS, state.cell % COLUMNS])
        row, column = jnp.clip(row, 0, ROWS - 1), jnp.clip(column, 0, COLUMNS - 1)
        return state._replace(cell=jnp.where(jnp.asarray(WALLS)[row, column], state.cell, row * COLUMNS + column))

    def label(self, world: Any, state: RoomState) -> UInt32[Array, " W"]:
        return jnp.asarray(_labels())[state.cell]

    def observe(self, world: Any, state: RoomState) -> Float[Array, " C"]:
        return self.recall(world, self.remember(state))

    def remember(self, state: RoomState) -> Int32[Array, ""]:
        return state.cell

    def recall(self, world: Any, memory: Int32[Array, ""]) -> Float[Array, " C"]:
        return jax.nn.one_hot(memory, CELLS)


def _labels() -> np.ndarray[Any, np.dtype[np.uint32]]:
    cells = "".join(PLAN)
    return np.array([[1 << PROPOSITIONS.index(cell) if cell in PROPOSITIONS else 0] for cell in cells], np.uint32)
