"""CraftWorld as a picture and as text."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.craftworld.icons import Pixels, agent, drawn, icon
from rewardmachines.envs.craftworld.things import Thing, proposition

Things = npt.NDArray[np.integer[Any]]

ON_FLOOR: Final = 0.85  # the agent's size
ON_THING: Final = 0.5  # so that the thing below it stays visible
ARROWS: Final = "▶▼◀▲"

LEGEND: Final[Mapping[str, str]] = MappingProxyType(
    {
        "iron": "I",
        "table": "T",
        "cow": "C",
        "sugarcane": "S",
        "wheat": "W",
        "chicken": "K",
        "redstone": "R",
        "rabbit": "B",
        "squid": "Q",
        "workbench": "H",
        "lava": "~",
    }
)

# Colours of the 256 that terminals know.
_COLOURS: Final[Mapping[Thing, int]] = MappingProxyType(
    {
        Thing.EMPTY: 240,
        Thing.WALL: 244,
        Thing.LAVA: 208,
        Thing.IRON: 252,
        Thing.TABLE: 173,
        Thing.COW: 217,
        Thing.SUGARCANE: 113,
        Thing.WHEAT: 220,
        Thing.CHICKEN: 231,
        Thing.REDSTONE: 203,
        Thing.RABBIT: 116,
        Thing.SQUID: 69,
        Thing.WORKBENCH: 176,
    }
)
_AGENT_COLOUR: Final = 196


def render(things: Things, x: int, y: int, direction: int, *, tile: int = 32) -> Pixels:
    """The grid with the agent at column `x` and row `y`, shape [height * tile, width * tile, 3].

    `things[x, y]` holds the numbers of `Thing`; direction 0 is right, 1 down, 2 left, 3 up.
    """
    _check(things, x, y, direction)
    width, height = things.shape
    numbers, which = np.unique(things.T, return_inverse=True)
    tiles = np.stack([icon(drawn(int(number)), tile) for number in numbers])
    grid = tiles[which.reshape(height, width)]  # [height, width, tile, tile, 3]
    scale = ON_FLOOR if things[x, y] == Thing.EMPTY else ON_THING
    grid[y, x] = _over(grid[y, x], agent(direction, tile, scale))
    return grid.swapaxes(1, 2).reshape(height * tile, width * tile, 3)


def _over(below: Pixels, above: Pixels) -> Pixels:
    opacity = above[..., 3:] / 255
    return np.rint(above[..., :3] * opacity + below * (1 - opacity)).astype(np.uint8)


def render_text(things: Things, x: int, y: int, direction: int, *, colour: bool = True) -> str:
    """The grid for a terminal: a line for each row, two characters for each cell, as `LEGEND` says.

    The agent is an arrow, followed by the symbol of what it stands on.

    >>> print(render_text(np.array([[2, 2], [11, 1], [2, 13]]), 2, 1, 0, colour=False))
    ██I ██
    ██· ▶C
    """
    _check(things, x, y, direction)
    rows = [[_cell(drawn(int(number)), colour=colour) for number in row] for row in things.T]
    below = drawn(int(things[x, y]))
    mark = ARROWS[direction] + (" " if below is Thing.EMPTY else _symbol(below))
    rows[y][x] = _paint(mark, _AGENT_COLOUR, colour=colour)
    return "\n".join("".join(row) for row in rows)


def _cell(thing: Thing, *, colour: bool) -> str:
    symbol = _symbol(thing)
    return _paint("██" if thing is Thing.WALL else f"{symbol} ", _COLOURS[thing], colour=colour)


def _symbol(thing: Thing) -> str:
    return {Thing.EMPTY: "·", Thing.WALL: "█"}.get(thing) or LEGEND[proposition(thing)]


def _paint(text: str, shade: int, *, colour: bool) -> str:
    return f"\x1b[38;5;{shade}m{text}\x1b[0m" if colour else text


def _check(things: Things, x: int, y: int, direction: int) -> None:
    width, height = things.shape
    if not (0 <= x < width and 0 <= y < height):
        raise RewardMachineError(f"the agent is at column {x}, row {y}, outside the grid of {width} by {height}")
    if direction not in range(4):
        raise RewardMachineError(f"direction {direction} is none of 0 right, 1 down, 2 left, 3 up")
