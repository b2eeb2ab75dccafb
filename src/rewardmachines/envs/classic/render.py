"""The office world and the craft world as a picture and as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

import numpy as np
from PIL import Image, ImageDraw

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.classic.maps import WALL, ClassicMap
from rewardmachines.envs.craftworld.icons import FLOOR, GRID, MASTER, Pen
from rewardmachines.envs.domain import Pixels

AGENT_SIGN: Final = "@"
_USUAL_SIZE: Final = 640
"""About how many pixels a picture is wide, if nothing is said."""
_SMALL: Final = 20
"""The number of pixels of a cell below which things are drawn larger than it."""
_FAINT: Final = (34, 36, 42)
_WALL_COLOUR: Final = "#c9ccd6"
_WIDE: Final = 20
"""The number of columns of a map from which a terminal shows one character for each, and not two."""


def render(grid: ClassicMap, x: int, y: int, size: int | None = None) -> Pixels:
    """The map with the agent in column `x` and row `y`, about `size` pixels wide, with walls as lines between cells."""
    width, height = grid.size
    _check(grid, x, y)
    tile = max(8, (size or _USUAL_SIZE) // max(width, height))
    picture = Image.new("RGB", (width * tile, height * tile), FLOOR)
    draw = ImageDraw.Draw(picture)
    grid_colour = GRID if tile >= _SMALL else _FAINT
    for column in range(width):
        draw.line((column * tile, 0, column * tile, height * tile), fill=grid_colour)
    for row in range(height):
        draw.line((0, row * tile, width * tile, row * tile), fill=grid_colour)
    for column, row in np.argwhere(grid.things):
        name = grid.proposition(int(column), int(row))
        assert name is not None
        _put(picture, name, int(column), int(row), tile)
    _put(picture, "agent on a thing" if grid.things[x, y] else "agent", x, y, tile)
    _draw_walls(draw, grid, tile)
    return np.array(picture)


def _put(picture: Image.Image, name: str, x: int, y: int, tile: int) -> None:
    """Draws a thing into its cell; into its neighbours, too, where cells are so small that it would be a dot."""
    wide = tile if tile >= _SMALL else 2 * tile
    icon, shift = _icon(name, wide), (wide - tile) // 2
    picture.paste(icon, (x * tile - shift, y * tile - shift), icon)


def _draw_walls(draw: ImageDraw.ImageDraw, grid: ClassicMap, tile: int) -> None:
    """A line along each side of a cell over which no action leads."""
    thick = max(1, tile // 10)
    for column, row, action in np.argwhere(~grid.moves):
        left, top, right, bottom = column * tile, row * tile, (column + 1) * tile, (row + 1) * tile
        low, high = thick // 2, thick - thick // 2
        side = (
            (left - low, top - low, right + low, top + high),
            (right - high, top - low, right + low, bottom + low),
            (left - low, bottom - high, right + low, bottom + low),
            (left - low, top - low, left + high, bottom + low),
        )[action]
        draw.rectangle(tuple(map(int, side)), fill=_WALL_COLOUR)


@cache
def _icon(name: str, tile: int) -> Image.Image:
    picture = Image.new("RGBA", (MASTER, MASTER))
    _DRAWINGS[name](Pen(ImageDraw.Draw(picture)))
    return picture.resize((tile, tile), Image.Resampling.LANCZOS)


def _agent(pen: Pen) -> None:
    pen.oval("#2b0000", (50, 50), 38, 38)
    pen.oval("#ff2a1f", (50, 50), 33, 33)


def _agent_on_a_thing(pen: Pen) -> None:
    pen.oval("#2b0000", (72, 72), 25, 25)
    pen.oval("#ff2a1f", (72, 72), 20, 20)


def _coffee(pen: Pen) -> None:
    pen.oval("#e8e4da", (72, 52), 16, 14)
    pen.oval(FLOOR, (72, 52), 9, 8)
    pen.box("#e8e4da", (22, 34), (70, 78), radius=10)
    pen.oval("#6b3f22", (46, 36), 22, 6)
    for x in (36, 48, 60):
        pen.line("#8f8a80", 3, (x, 26), (x + 4, 20), (x, 13))
    pen.box("#b9b3a5", (14, 80), (80, 87), radius=3)


def _mail(pen: Pen) -> None:
    pen.box("#f4e9c8", (14, 26), (86, 76), radius=4)
    pen.line("#a8874a", 4, (16, 29), (50, 56), (84, 29))
    pen.line("#a8874a", 3, (16, 73), (40, 49))
    pen.line("#a8874a", 3, (84, 73), (60, 49))


def _office(pen: Pen) -> None:
    pen.box("#4b78b8", (22, 12), (78, 88), radius=3)
    for row in range(3):
        for column in range(3):
            pen.box("#d6ecff", (30 + 15 * column, 20 + 17 * row), (40 + 15 * column, 31 + 17 * row))
    pen.box("#16324f", (43, 72), (57, 88))


def _decoration(pen: Pen) -> None:
    for across, up in ((-26, 24), (-14, 10), (0, 4), (14, 10), (26, 24)):
        pen.line("#3fa34d", 7, (50, 62), (50 + across, 12 + up))
    pen.area("#c4633a", (30, 60), (70, 60), (63, 90), (37, 90))
    pen.box("#db7a4d", (27, 56), (73, 65), radius=2)


def _letter(colour: str, *strokes: tuple[tuple[float, float], ...]) -> Callable[[Pen], None]:
    """A letter on a round plate."""

    def draw(pen: Pen) -> None:
        pen.oval(colour, (50, 50), 38, 38)
        for stroke in strokes:
            pen.line("#ffffff", 8, *stroke)

    return draw


_BOWL: Final = ((40, 50), (53, 50), (61, 57), (61, 64), (53, 71), (40, 71), (40, 29), (52, 29), (59, 35), (59, 43))
_A: Final = (((33, 72), (50, 28), (67, 72)), ((40, 58), (60, 58)))
_B: Final = ((*_BOWL, (53, 50)),)
_C: Final = (((64, 36), (56, 29), (46, 29), (36, 38), (35, 50), (36, 62), (46, 71), (56, 71), (64, 64)),)
_D: Final = (((38, 29), (50, 29), (61, 37), (64, 50), (61, 63), (50, 71), (38, 71), (38, 29)),)


def _wood(pen: Pen) -> None:
    pen.box("#7a4b26", (43, 56), (57, 92), radius=2)
    pen.oval("#2f7d3b", (50, 38), 32, 28)
    pen.oval("#43a552", (42, 32), 17, 14)


def _toolshed(pen: Pen) -> None:
    pen.box("#a05a3a", (20, 44), (80, 88))
    pen.area("#d9d2c3", (10, 46), (50, 12), (90, 46))
    pen.box("#4a2616", (42, 58), (58, 88))


def _workbench(pen: Pen) -> None:
    pen.box("#e0a458", (10, 36), (90, 52), radius=2)
    pen.box("#a06a2c", (16, 52), (27, 88))
    pen.box("#a06a2c", (73, 52), (84, 88))
    pen.line("#cfd4dc", 7, (40, 32), (64, 14))


def _grass(pen: Pen) -> None:
    for foot, tip in ((22, 10), (34, 28), (46, 48), (56, 60), (66, 76), (78, 92)):
        pen.line("#9be15d", 8, (foot, 88), (tip, 26 + abs(50 - foot) / 2))


def _factory(pen: Pen) -> None:
    pen.box("#8b6fc0", (12, 56), (88, 88))
    pen.area("#8b6fc0", (12, 58), (12, 40), (36, 58), (36, 40), (60, 58))
    pen.box("#8b6fc0", (66, 16), (80, 60))
    for x in (22, 42, 62):
        pen.box("#f3e6ff", (x, 66), (x + 12, 76))


def _iron(pen: Pen) -> None:
    pen.area("#dfe5ee", (30, 34), (70, 34), (90, 74), (10, 74))
    pen.area("#9aa6b8", (10, 74), (90, 74), (84, 84), (16, 84))


def _bridge(pen: Pen) -> None:
    pen.area(
        "#5aa9e6", (6, 84), (6, 44), (94, 44), (94, 84), (80, 84), (76, 68), (64, 60), (50, 57), (36, 60), (24, 68),
        (20, 84),
    )  # fmt: skip
    pen.line("#bfe3ff", 6, (6, 40), (94, 40))


def _axe(pen: Pen) -> None:
    pen.line("#c98a4b", 10, (30, 90), (62, 22))
    pen.area("#f2545b", (50, 14), (80, 12), (92, 30), (84, 50), (66, 38), (48, 34))


_DRAWINGS: Final[Mapping[str, Callable[[Pen], None]]] = MappingProxyType(
    {
        "agent": _agent,
        "agent on a thing": _agent_on_a_thing,
        "coffee": _coffee,
        "mail": _mail,
        "office": _office,
        "decoration": _decoration,
        "a": _letter("#8a3ffc", *_A),
        "b": _letter("#0072c3", *_B),
        "c": _letter("#007d79", *_C),
        "d": _letter("#b28600", *_D),
        "wood": _wood,
        "toolshed": _toolshed,
        "workbench": _workbench,
        "grass": _grass,
        "factory": _factory,
        "iron": _iron,
        "bridge": _bridge,
        "axe": _axe,
    }
)

_SHADES: Final = (141, 39, 37, 178, 223, 173, 75, 113)
"""Colours of the 256 that terminals know, for propositions in the order of their numbers."""
_WALL_SHADE, _FLOOR_SHADE, _AGENT_SHADE = 244, 240, 196


def render_text(grid: ClassicMap, x: int, y: int, *, colour: bool = True) -> str:
    """The map for a terminal, with the published signs; the agent hides what it stands on."""
    _check(grid, x, y)
    lines = [list(line.replace("A", " ")) for line in grid.lines]
    lines[grid.line(y)][grid.line(x)] = AGENT_SIGN
    doubled = grid.size[0] <= _WIDE
    shades = dict(zip(grid.signs, _SHADES, strict=False))

    def cell(sign: str) -> str:
        shown = {WALL: "█", " ": "·"}.get(sign, sign)
        text = shown * 2 if sign == WALL and doubled else shown + " " * doubled
        if not colour:
            return text
        usual = {WALL: _WALL_SHADE, " ": _FLOOR_SHADE, AGENT_SIGN: _AGENT_SHADE}
        return f"\x1b[38;5;{usual.get(sign) or shades[sign]}m{text}\x1b[0m"

    return "\n".join("".join(map(cell, line)) for line in lines)


def _check(grid: ClassicMap, x: int, y: int) -> None:
    width, height = grid.size
    if not (0 <= x < width and 0 <= y < height):
        raise RewardMachineError(f"the agent is at column {x}, row {y}, outside the map of {width} by {height}")
