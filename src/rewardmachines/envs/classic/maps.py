"""The published maps of the office world and the craft world, read from `maps.toml`, which explains its format."""

from __future__ import annotations

import tomllib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np

ACTIONS: Final = ("up", "right", "down", "left")
"""The names of the actions, in the published order."""
DIRECTIONS: Final = ((0, -1), (1, 0), (0, 1), (-1, 0))
"""Steps of each action in columns and rows; row 0 is at the top."""
WALL: Final = "X"
START: Final = "A"


@dataclass(frozen=True, eq=False)
class ClassicMap:
    """A map of X columns and Y rows of cells, walls left out."""

    name: str
    lines: tuple[str, ...]
    """The map as text, walls included."""
    room: int
    """The number of cells between two lines of walls."""
    propositions: tuple[str, ...]
    """The propositions, in the order of their numbers."""
    signs: Mapping[str, str]
    """Propositions by their published signs."""
    things: np.ndarray[Any, np.dtype[np.int8]]
    """The number of the proposition that is true in each cell, from 1, or 0; shape [X, Y]."""
    moves: np.ndarray[Any, np.dtype[np.bool_]]
    """Whether an action leads out of a cell; shape [X, Y, 4]."""
    coordinates: np.ndarray[Any, np.dtype[np.float32]]
    """The published observation of each cell; shape [X, Y, 2]."""
    start: tuple[int, int]
    """The column and row of the cell in which episodes begin."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of cells."""
        width, height = self.things.shape
        return width, height

    def line(self, number: int) -> int:
        """The column of the text in which a column of cells is; likewise for rows."""
        return 1 + number + number // self.room

    def proposition(self, x: int, y: int) -> str | None:
        """The proposition that is true in a cell."""
        return self.signs.get(self.lines[self.line(y)][self.line(x)])


@cache
def classic_map(name: str, propositions: tuple[str, ...]) -> ClassicMap:
    """A published map.

    Args:
        name: The name of the map: `office`, or that of a map of the craft world, such as `m1`.
        propositions: The propositions of the world, in the order of their numbers.
    """
    content = tomllib.loads((files(__package__) / "maps.toml").read_text(encoding="utf-8"))[name]
    lines, room = tuple(content["map"].strip("\n").split("\n")), content["room"]
    columns, rows = (tuple(_lines_of_cells(length, room)) for length in (len(lines[0]), len(lines)))
    things = np.zeros((len(columns), len(rows)), np.int8)
    moves = np.zeros((*things.shape, len(ACTIONS)), np.bool_)
    start = (0, 0)
    for x, column in enumerate(columns):
        for y, row in enumerate(rows):
            sign = lines[row][column]
            if sign == START:
                start = x, y
            elif sign in content["signs"]:
                things[x, y] = 1 + propositions.index(content["signs"][sign])
            # A door, or the next cell: whether it is walled says whether one can go there.
            moves[x, y] = [lines[row + down][column + right] != WALL for right, down in DIRECTIONS]
    return ClassicMap(
        name, lines, room, propositions, content["signs"], things, moves, _coordinates(name, *things.shape), start
    )


def _lines_of_cells(length: int, room: int) -> Sequence[int]:
    """The lines of a text that hold cells: all but every `room + 1`st."""
    return [line for line in range(length) if line % (room + 1)]


def _coordinates(name: str, width: int, height: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """In the office world columns and rows from 0, rows from below; in the craft world rows and columns from 1."""
    x, y = np.meshgrid(np.arange(width), np.arange(height), indexing="ij")
    pair = (x, height - 1 - y) if name == "office" else (y + 1, x + 1)
    return np.stack(pair, axis=-1).astype(np.float32)


def shortest_ways(grid: ClassicMap, avoided: Sequence[str] = ()) -> np.ndarray[Any, np.dtype[np.int8]]:
    """The first action on a shortest way to each proposition from each cell; -1 where it is true or out of reach.

    Searched backwards, breadth first. No way leads through a cell with a proposition that is avoided.

    Args:
        grid: The map.
        avoided: The propositions to keep away from. They have no ways.

    Returns:
        An array of shape [P, X, Y], for the P propositions that are not avoided, in their order.
    """
    targets = [name for name in grid.propositions if name not in avoided]
    closed = np.isin(grid.things, [1 + grid.propositions.index(name) for name in avoided])
    ways = np.full((len(targets), *grid.size), -1, np.int8)
    for number, name in enumerate(targets):
        found = grid.things == 1 + grid.propositions.index(name)
        queue = deque((int(x), int(y)) for x, y in np.argwhere(found))
        while queue:
            x, y = queue.popleft()
            for action, (right, down) in enumerate(DIRECTIONS):
                before = x - right, y - down
                if not grid.moves[x, y, (action + 2) % len(ACTIONS)] or found[before] or closed[before]:
                    continue
                found[before] = True
                ways[number][before] = action
                queue.append(before)
    return ways
