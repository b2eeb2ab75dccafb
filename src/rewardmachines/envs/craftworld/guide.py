"""Shortest ways to things on a grid, around lava."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int8, Int32

from rewardmachines.envs.craftworld.environment import CraftState
from rewardmachines.envs.craftworld.instances import CraftInstance
from rewardmachines.envs.craftworld.things import DIRECTIONS, OBJECTS, CraftAction, Thing
from rewardmachines.envs.domain import Guide


def shortest_ways(instance: CraftInstance) -> np.ndarray[Any, np.dtype[np.int8]]:
    """The first action on a shortest way to each kind of thing, from each cell and direction; -1 at the thing itself.

    Searched backwards, breadth first, from all cells that hold the thing.
    """
    columns, rows = instance.things.shape
    ways = np.full((len(OBJECTS), columns, rows, len(DIRECTIONS)), -1, np.int8)
    for number, thing in enumerate(OBJECTS):
        known = np.zeros((columns, rows, len(DIRECTIONS)), bool)
        queue: deque[tuple[int, int, int]] = deque()
        for x, y in instance.cells(thing):
            known[x, y] = True
            queue.extend((x, y, d) for d in range(len(DIRECTIONS)))
        while queue:
            x, y, d = queue.popleft()
            for px, py, pd, action in _before(instance, x, y, d):
                if not known[px, py, pd]:
                    known[px, py, pd] = True
                    ways[number, px, py, pd] = action
                    queue.append((px, py, pd))
    return ways


def _before(instance: CraftInstance, x: int, y: int, direction: int) -> Iterator[tuple[int, int, int, CraftAction]]:
    """The cells and directions from which an action leads here, lava left out."""
    turns = len(DIRECTIONS)
    yield x, y, (direction + 1) % turns, CraftAction.LEFT
    yield x, y, (direction - 1) % turns, CraftAction.RIGHT
    dx, dy = DIRECTIONS[direction]
    if instance.things[x - dx, y - dy] not in (Thing.WALL, Thing.LAVA):
        yield x - dx, y - dy, direction, CraftAction.FORWARD


def _action(ways: Int8[Array, "I O X Y 4"], state: CraftState, target: Int32[Array, ""]) -> Int32[Array, ""]:
    return ways[state.instance, target, state.x, state.y, state.direction].astype(jnp.int32)


GUIDE: Final = Guide(shortest_ways, _action)
