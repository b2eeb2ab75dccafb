"""One tile for each thing of CraftWorld, and the agent's triangle: drawn large by us, once, then shrunk smoothly.

Coordinates run from 0 to 100 across a tile, x to the right and y downwards, whatever its size in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.craftworld.things import Thing

Point = tuple[float, float]
Pixels = npt.NDArray[np.uint8]

MASTER: Final = 512  # pixels across the drawing from which every tile is shrunk
FLOOR: Final = "#16171c"
GRID: Final = (62, 64, 72)


@dataclass(frozen=True, slots=True)
class Pen:
    """Draws on a master in tile coordinates."""

    draw: ImageDraw.ImageDraw

    def area(self, fill: str, *points: Point) -> None:
        self.draw.polygon([_pixel(point) for point in points], fill=fill)

    def box(self, fill: str, corner: Point, opposite: Point, *, radius: float = 0) -> None:
        ends = (_pixel(corner), _pixel(opposite))
        self.draw.rounded_rectangle(ends, radius=radius * MASTER / 100, fill=fill)

    def oval(self, fill: str, centre: Point, wide: float, high: float, *, turned: float = 0) -> None:
        """An ellipse of these half axes, turned clockwise by `turned` degrees."""
        turn = math.radians(turned)
        rim = [(wide * math.cos(a), high * math.sin(a)) for a in (math.tau * i / 90 for i in range(90))]
        cos, sin = math.cos(turn), math.sin(turn)
        self.area(fill, *((centre[0] + x * cos - y * sin, centre[1] + x * sin + y * cos) for x, y in rim))

    def line(self, fill: str, width: float, *points: Point) -> None:
        """A line through the points, its joints and both ends round."""
        self.draw.line([_pixel(point) for point in points], fill=fill, width=round(width * MASTER / 100))
        for point in points:
            self.oval(fill, point, width / 2, width / 2)


def _pixel(point: Point) -> Point:
    return point[0] * MASTER / 100, point[1] * MASTER / 100


def _wave(start: Point, length: float, height: float, periods: float, *, down: bool = False) -> list[Point]:
    """A sine from `start`, to the right or downwards."""
    along = [(length * i / 40, height * math.sin(math.tau * periods * i / 40)) for i in range(41)]
    return [(start[0] + (b if down else a), start[1] + (a if down else b)) for a, b in along]


def _empty(pen: Pen) -> None:
    """Nothing: the floor shows."""


def _wall(pen: Pen) -> None:
    pen.box("#4b4d55", (0, 0), (100, 100))
    for row, shift in enumerate((0, -25, 0, -25)):
        for left in range(shift, 100, 50):
            top = 25 * row
            pen.box("#7f828c", (left + 2, top + 2), (left + 48, top + 23), radius=2)
            pen.box("#969aa5", (left + 2, top + 2), (left + 48, top + 7), radius=2)


def _lava(pen: Pen) -> None:
    pen.box("#d8380c", (0, 0), (100, 100))
    for x, y, size in ((22, 36, 9), (70, 63, 11), (84, 14, 6), (36, 88, 6)):
        pen.oval("#b02305", (x, y), size * 1.4, size * 0.7)
    for y in (20, 50, 80):
        pen.line("#ff8a1c", 11, *_wave((-5, y), 110, 6, 2.2))
        pen.line("#ffd84a", 4.5, *_wave((-5, y), 110, 6, 2.2))


def _iron(pen: Pen) -> None:
    pen.area("#a9aeb8", (8, 76), (20, 48), (60, 48), (72, 76))
    pen.area("#e4e8ee", (20, 48), (38, 29), (76, 29), (60, 48))
    pen.area("#737985", (60, 48), (76, 29), (92, 57), (72, 76))
    pen.area("#f8fafc", (27, 45), (40, 32), (52, 32), (39, 45))
    pen.line("#c9ced6", 3, (22, 56), (17, 69))


def _table(pen: Pen) -> None:
    for left in (27, 66):
        pen.box("#5f3a1a", (left, 56), (left + 7, 78))
    for left in (10, 80):
        pen.box("#8a5626", (left, 58), (left + 10, 90), radius=1)
    pen.area("#c98d4b", (22, 26), (78, 26), (95, 52), (5, 52))
    pen.box("#9c632d", (5, 51), (95, 61), radius=2)
    for top, bottom in ((40.5, 35), (59.5, 65)):
        pen.line("#a8703a", 2, (top, 27), (bottom, 51))
    pen.line("#e0ab6d", 2, (23, 27), (77, 27))


def _cow(pen: Pen) -> None:
    for side in (-1, 1):
        pen.area("#d9c79a", (50 + 15 * side, 26), (50 + 31 * side, 8), (50 + 29 * side, 28))
        pen.oval("#f4f1ec" if side > 0 else "#3a302c", (50 + 34 * side, 36), 13, 7.5, turned=14 * side)
        pen.oval("#f0a3ab", (50 + 35 * side, 37), 7.5, 3.5, turned=14 * side)
    pen.box("#f4f1ec", (24, 18), (76, 84), radius=22)
    pen.oval("#3a302c", (35, 41), 11.5, 16, turned=12)
    pen.oval("#3a302c", (67, 24), 9, 7, turned=25)
    pen.oval("#f0a3ab", (50, 75), 29, 17)
    for x in (38, 62):
        pen.oval("#a9525f", (x, 73), 4.5, 5.5)
        pen.oval("#ffffff", (x, 44), 6, 6.5)
        pen.oval("#15110f", (x + (1 if x < 50 else -1), 45), 3.8, 4.4)
    pen.line("#c06c79", 2.2, (40, 84), (50, 86.5), (60, 84))


def _sugarcane(pen: Pen) -> None:
    for x, top in ((26, 24), (50, 10), (74, 30)):
        pen.oval("#2f8a3a", (x + 10, top + 12), 14, 3.6, turned=-42)
        pen.oval("#3da548", (x - 9, top + 32), 13, 3.4, turned=40)
        pen.box("#7fc95a", (x - 6, top), (x + 6, 92), radius=3)
        pen.box("#a9e07c", (x - 4, top + 2), (x - 0.5, 90), radius=1.5)
        for joint in range(top + 16, 90, 18):
            pen.box("#3d7f35", (x - 7.5, joint), (x + 7.5, joint + 4), radius=2)


def _wheat(pen: Pen) -> None:
    for lean in (-24, 24, 0):
        turn = math.radians(lean)
        up = (math.sin(turn), -math.cos(turn))
        pen.line("#b98a1e", 4, (50, 92), (50 + 50 * up[0], 92 + 50 * up[1]))
        for height in range(36, 72, 10):
            x, y = 50 + height * up[0], 92 + height * up[1]
            for side in (-1, 1):
                grain = (x + 6.2 * side * math.cos(turn), y + 6.2 * side * math.sin(turn))
                pen.oval("#a87812", grain, 5.6, 8.4, turned=lean + 28 * side)
                pen.oval("#ffd43b", grain, 4.6, 7.4, turned=lean + 28 * side)
        pen.oval("#ffe27a", (50 + 77 * up[0], 92 + 77 * up[1]), 4.6, 8, turned=lean)
    pen.box("#8a5a1c", (41, 75), (59, 82), radius=2)


def _chicken(pen: Pen) -> None:
    for x in (44, 57):
        pen.line("#f08c1d", 3.6, (x, 74), (x, 92), (x + 8, 92))
        pen.line("#f08c1d", 3.6, (x, 92), (x - 5, 92))
    pen.area("#f3d5d3", (24, 60), (4, 34), (16, 35), (17, 27), (36, 45))
    for x, y in ((65, 17), (73, 12), (81, 17)):
        pen.oval("#e02b2b", (x, y), 6, 8)
    pen.oval("#fbeeec", (47, 60), 32, 22)
    pen.area("#fbeeec", (52, 46), (61, 22), (86, 26), (78, 66))
    pen.oval("#fbeeec", (73, 29), 14, 13)
    pen.area("#f79a1e", (84, 25), (99, 32), (84, 37))
    pen.oval("#e02b2b", (83, 43), 4.5, 7)
    pen.oval("#1c1614", (77, 27), 3.3, 3.6)
    pen.oval("#eeb9b8", (42, 59), 18, 11.5, turned=-8)
    pen.oval("#f7d6d4", (40, 56), 14, 7.5, turned=-8)


def _redstone(pen: Pen) -> None:
    for x, y, size in ((9, 84, 3.5), (90, 86, 3), (16, 66, 2.4), (88, 68, 2.2), (12, 34, 2), (80, 20, 2.2)):
        pen.oval("#ff3b30", (x, y), size, size)
    _crystal(pen, (28, 88), 12, 42, -18)
    _crystal(pen, (73, 88), 12, 50, 16)
    _crystal(pen, (50, 92), 15, 80, 0)


def _crystal(pen: Pen, foot: Point, half: float, height: float, lean: float) -> None:
    """A pointed prism standing on `foot`: a bright facet to the left, a dark one to the right."""
    cos, sin = math.cos(math.radians(lean)), math.sin(math.radians(lean))

    def at(across: float, up: float) -> Point:
        return foot[0] + across * cos + up * sin, foot[1] + across * sin - up * cos

    neck = height - 1.3 * half
    ridge = -0.2 * half
    pen.area("#ff5a4d", at(-half, 0), at(-half, neck), at(ridge, height), at(ridge, 0))
    pen.area("#b3101b", at(ridge, 0), at(ridge, height), at(half, neck), at(half, 0))
    pen.area("#ffa59b", at(-half, neck), at(ridge, height), at(ridge, neck - 0.5 * half))
    pen.area("#dd2430", at(half, neck), at(ridge, height), at(ridge, neck - 0.5 * half))


def _rabbit(pen: Pen) -> None:
    for side in (-1, 1):
        pen.oval("#9fc3c9", (50 + 16 * side, 31), 10, 25, turned=9 * side)
        pen.oval("#f1b4bd", (50 + 16 * side, 32), 4.8, 17.5, turned=9 * side)
    pen.oval("#9fc3c9", (50, 67), 33, 27)
    for side in (-1, 1):
        pen.oval("#d8eaec", (50 + 10 * side, 78), 13, 11)
        pen.oval("#12262a", (50 + 16 * side, 60), 5, 6.2)
        pen.oval("#ffffff", (50 + 16 * side + 1.6, 57.6), 1.8, 2)
    pen.box("#ffffff", (44.5, 80), (55.5, 91), radius=2)
    pen.line("#a7bfc3", 1.4, (50, 82), (50, 90))
    pen.area("#e8788a", (43, 69), (57, 69), (50, 77))


def _squid(pen: Pen) -> None:
    for x, width in ((25, 6), (75, 6), (37, 7), (63, 7), (50, 7)):
        bend = 5 if x < 50 else -5
        pen.line("#2a57b8" if x in (37, 63) else "#3b72db", width, *_wave((x, 56), 36, bend, 1, down=True))
    pen.area("#3b72db", (50, 4), (16, 36), (84, 36))
    pen.area("#4f8bf0", (50, 4), (74, 34), (76, 60), (24, 60), (26, 34))
    pen.oval("#4f8bf0", (50, 56), 28, 14)
    pen.oval("#8db7fb", (41, 28), 4, 10, turned=24)
    for x in (37, 63):
        pen.oval("#ffffff", (x, 52), 8, 8.5)
        pen.oval("#0b1430", (x, 54), 4.2, 4.8)


def _workbench(pen: Pen) -> None:
    pen.box("#6b3f5e", (7, 42), (93, 92), radius=3)
    pen.box("#4c2b43", (7, 86), (93, 92), radius=2)
    pen.area("#b98aa6", (20, 10), (80, 10), (93, 42), (7, 42))
    for i in range(4):
        across, y = i / 3, 14 + 24 * (i / 3) ** 1.25
        slope = 10 * (y - 10) / 32
        pen.line("#5a3350", 2.6, (26 + 48 * across, 14), (17 + 66 * across, 38))
        pen.line("#5a3350", 2.6, (27 - slope, y), (73 + slope, y))
    pen.box("#8a5478", (7, 41), (93, 47), radius=1)
    pen.line("#e0b070", 6, (30, 60), (30, 84))
    pen.box("#cfd4dc", (16, 53), (44, 65), radius=2)
    pen.area("#cfd4dc", (54, 55), (80, 55), (80, 70), *((80 - 3.25 * i, 70 + 5 * (i % 2)) for i in range(1, 9)))
    pen.box("#e0b070", (77, 52), (86, 80), radius=4)


DRAWINGS: Final[Mapping[Thing, Callable[[Pen], None]]] = MappingProxyType(
    {
        Thing.EMPTY: _empty,
        Thing.WALL: _wall,
        Thing.LAVA: _lava,
        Thing.IRON: _iron,
        Thing.TABLE: _table,
        Thing.COW: _cow,
        Thing.SUGARCANE: _sugarcane,
        Thing.WHEAT: _wheat,
        Thing.CHICKEN: _chicken,
        Thing.REDSTONE: _redstone,
        Thing.RABBIT: _rabbit,
        Thing.SQUID: _squid,
        Thing.WORKBENCH: _workbench,
    }
)


def drawn(number: int) -> Thing:
    """The thing of that number, if it has a tile: the agent, MiniGrid's number 10, is drawn over one instead."""
    if number not in DRAWINGS:
        known = ", ".join(f"{thing.value} {thing.name.lower()}" for thing in DRAWINGS)
        raise RewardMachineError(f"no tile shows thing {number}; there are {known}")
    return Thing(number)


@cache
def icon(thing: Thing, tile: int) -> Pixels:
    """The thing's tile, shape [tile, tile, 3]; shared, so read-only."""
    pixels = np.array(_master(thing).resize((tile, tile), Image.Resampling.LANCZOS))
    if thing not in (Thing.WALL, Thing.LAVA):  # they fill their tiles, so that neighbours join
        thickness = max(1, round(tile / 40))
        pixels[:thickness] = pixels[:, :thickness] = GRID
    pixels.flags.writeable = False
    return pixels


@cache
def _master(thing: Thing) -> Image.Image:
    picture = Image.new("RGB", (MASTER, MASTER), FLOOR)
    DRAWINGS[thing](Pen(ImageDraw.Draw(picture)))
    return picture


@cache
def agent(direction: int, tile: int, scale: float) -> Pixels:
    """The red triangle with a dark rim, shape [tile, tile, 4]; 0 points right, and each quarter turn is clockwise."""
    picture = Image.new("RGBA", (MASTER, MASTER))
    pen = Pen(ImageDraw.Draw(picture))
    turn = math.radians(90 * direction)
    corners = [
        (
            50 + scale * (x * math.cos(turn) - y * math.sin(turn)),
            50 + scale * (x * math.sin(turn) + y * math.cos(turn)),
        )
        for x, y in ((-36, -34), (44, 0), (-36, 34))
    ]
    pen.line("#2b0000", 9, *corners, corners[0])
    pen.area("#ff2a1f", *corners)
    pixels = np.array(picture.resize((tile, tile), Image.Resampling.LANCZOS))
    pixels.flags.writeable = False
    return pixels
