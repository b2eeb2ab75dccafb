"""WaterWorld as a picture and as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.waterworld.instances import BOX, RADIUS

Point = tuple[float, float]
Shade = tuple[int, ...]
Positions = npt.NDArray[np.floating[Any]]
Pixels = npt.NDArray[np.uint8]

TOUCH: Final = 2 * RADIUS
SMOOTH: Final = 4  # drawn this many times larger, then shrunk

BACKGROUND: Final = (236, 241, 245)
BORDER: Final = (178, 191, 203)
DARK: Final = (38, 45, 56)
HIGHLIGHT: Final = (255, 122, 0)
COLOURS: Final[Mapping[str, Shade]] = MappingProxyType(
    {
        "red": (224, 49, 49),
        "green": (47, 158, 68),
        "blue": (34, 85, 221),
        "cyan": (34, 201, 224),
        "magenta": (214, 51, 182),
        "yellow": (250, 210, 20),
        "black": (16, 16, 18),
    }
)
LEGEND: Final[Mapping[str, str]] = MappingProxyType({name: "k" if name == "black" else name[0] for name in COLOURS})

AGENT: Final = "@"
_WATER: Final = "·"
# Colours of the 256 that terminals know; black is a dark grey, seen on a black terminal too.
_ANSI: Final[Mapping[str, int]] = MappingProxyType(
    {"r": 196, "g": 40, "b": 33, "c": 51, "m": 201, "y": 226, "k": 244, AGENT: 231, _WATER: 238}
)


def render(agent: Point, velocity: Point, balls: Positions, colours: Sequence[str], *, size: int = 400) -> Pixels:
    """The box as a picture, shape [size, size, 3]: y grows upwards, so row 0 is the top of the box.

    The agent is the white ball, its arrow half a second of its velocity; the balls that it touches wear a ring.
    """
    _check(balls, colours)
    canvas = _Canvas(size)
    for centre, colour in zip(_points(balls), colours, strict=True):
        canvas.ball(centre, COLOURS[colour])
    for centre in _points(balls):
        if math.dist(agent, centre) <= TOUCH:
            canvas.disc(centre, RADIUS + 5, outline=HIGHLIGHT, width=3.5)
    canvas.disc(agent, RADIUS, fill=(255, 255, 255, 190), outline=DARK, width=2.5)
    canvas.arrow(agent, velocity)
    return canvas.pixels()


class _Canvas:
    """Draws in the units of the box on a picture that is larger than asked for."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._scale = size * SMOOTH / BOX
        self._picture = Image.new("RGB", (size * SMOOTH, size * SMOOTH), BACKGROUND)
        self._draw = ImageDraw.Draw(self._picture, "RGBA")
        edge = size * SMOOTH - 1
        self._draw.rectangle((0, 0, edge, edge), outline=BORDER, width=self._thick(2))

    def pixels(self) -> Pixels:
        return np.array(self._picture.reduce(SMOOTH))

    def ball(self, centre: Point, shade: Shade) -> None:
        """A flat disc with a darker rim, and a gleam away from its centre."""
        self.disc(centre, RADIUS, fill=shade, outline=tuple(round(0.62 * part) for part in shade), width=1.8)
        self.disc((centre[0] - 5, centre[1] + 6), 3, fill=(255, 255, 255, 150))

    def disc(
        self, centre: Point, radius: float, *, fill: Shade | None = None, outline: Shade | None = None, width: float = 0
    ) -> None:
        x, y = self._at(centre)
        reach = radius * self._scale
        ends = (x - reach, y - reach, x + reach, y + reach)
        self._draw.ellipse(ends, fill=fill, outline=outline, width=self._thick(width) if outline else 0)

    def arrow(self, start: Point, velocity: Point) -> None:
        speed = math.hypot(*velocity)
        if speed < 1e-6:
            return self.disc(start, 2.5, fill=DARK)
        ahead = (velocity[0] / speed, velocity[1] / speed)
        aside = (-ahead[1], ahead[0])
        length = min(max(speed / 2, 10.0), 3 * RADIUS)

        def at(along: float, across: float) -> Point:
            return self._at(tuple(s + along * a + across * b for s, a, b in zip(start, ahead, aside, strict=True)))

        self._draw.line((at(0, 0), at(length - 5, 0)), fill=DARK, width=self._thick(2.6))
        self._draw.polygon((at(length + 2, 0), at(length - 7, 5), at(length - 7, -5)), fill=DARK)
        return None

    def _at(self, point: tuple[float, ...]) -> Point:
        return point[0] * self._scale, (BOX - point[1]) * self._scale

    def _thick(self, width: float) -> int:
        return max(1, round(width * self._scale))


def render_text(
    agent: Point, balls: Positions, colours: Sequence[str], *, columns: int = 60, rows: int = 30, colour: bool = True
) -> str:
    """The box for a terminal: `rows` lines of `columns` characters, the top of the box first.

    Balls are made of the letters of `LEGEND`, the agent, over them, of `@`.
    """
    _check(balls, colours)
    cells = np.full((rows, columns), _WATER)
    marks = [*(LEGEND[name] for name in colours), AGENT]
    for centre, mark in zip([*_points(balls), agent], marks, strict=True):
        cells[_covered(centre, columns, rows)] = mark
    return "\n".join(_line("".join(row), colour=colour) for row in cells)


def _covered(centre: Point, columns: int, rows: int) -> npt.NDArray[np.bool_]:
    """The cells whose middles lie in the ball, and the one that holds its centre; shape [rows, columns]."""
    x = (np.arange(columns) + 0.5) * BOX / columns
    y = BOX - (np.arange(rows) + 0.5) * BOX / rows
    inside: npt.NDArray[np.bool_] = np.hypot(x - centre[0], y[:, None] - centre[1]) <= RADIUS
    row = int((BOX - centre[1]) * rows / BOX)
    column = int(centre[0] * columns / BOX)
    inside[min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)] = True
    return inside


def _line(text: str, *, colour: bool) -> str:
    if not colour:
        return text
    return "".join(f"\x1b[38;5;{_ANSI[mark]}m{''.join(run)}\x1b[0m" for mark, run in groupby(text))


def _points(balls: Positions) -> list[Point]:
    return [(float(x), float(y)) for x, y in balls]


def _check(balls: Positions, colours: Sequence[str]) -> None:
    if balls.shape != (len(colours), 2):
        needed = (len(colours), 2)
        raise RewardMachineError(f"{len(colours)} colours need positions of shape {needed}, not {balls.shape}")
    if unknown := sorted(set(colours) - COLOURS.keys()):
        raise RewardMachineError(f"WaterWorld has no balls that are {', '.join(unknown)}; it has {', '.join(COLOURS)}")
