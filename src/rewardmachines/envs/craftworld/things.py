"""The objects of CraftWorld: numbers and colours as published, MiniGrid's first, then ours."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Thing(IntEnum):
    """The object number of a cell."""

    EMPTY = 1
    WALL = 2
    LAVA = 9
    AGENT = 10
    IRON = 11
    TABLE = 12
    COW = 13
    SUGARCANE = 14
    WHEAT = 15
    CHICKEN = 16
    REDSTONE = 17
    RABBIT = 18
    SQUID = 19
    WORKBENCH = 20


class Colour(IntEnum):
    """The colour number of a cell."""

    RED = 0
    GREEN = 1
    BLUE = 2
    PURPLE = 3
    YELLOW = 4
    GREY = 5
    WHITE = 6
    PINK = 7
    CYAN = 8
    BROWN = 9


class CraftAction(IntEnum):
    """The actions: turn, or walk ahead."""

    LEFT = 0
    RIGHT = 1
    FORWARD = 2


COLOURS: Final = {
    Thing.EMPTY: Colour.RED,
    Thing.WALL: Colour.GREY,
    Thing.LAVA: Colour.RED,
    Thing.AGENT: Colour.RED,
    Thing.IRON: Colour.GREY,
    Thing.TABLE: Colour.BROWN,
    Thing.COW: Colour.WHITE,
    Thing.SUGARCANE: Colour.GREEN,
    Thing.WHEAT: Colour.YELLOW,
    Thing.CHICKEN: Colour.PINK,
    Thing.REDSTONE: Colour.RED,
    Thing.RABBIT: Colour.CYAN,
    Thing.SQUID: Colour.BLUE,
    Thing.WORKBENCH: Colour.PURPLE,
}

OBJECTS: Final = tuple(Thing(number) for number in range(Thing.IRON, Thing.WORKBENCH + 1))
"""The things that tasks need, in the order in which they are placed, which is also that of their propositions."""

MAX_THING: Final = max(Thing)
MAX_COLOUR: Final = max(Colour)
MAX_DIRECTION: Final = 3
DIRECTIONS: Final = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Right, down, left, up, as steps in x and y; y grows downwards."""


def proposition(thing: Thing) -> str:
    """The proposition that is true where the thing lies."""
    return thing.name.lower()
