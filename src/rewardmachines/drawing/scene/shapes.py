"""The shapes of a picture. Both backends draw these and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from rewardmachines.drawing.layout.geometry import BezierPath, Box, Point

_HEAD_LENGTH: Final = 8.5
_HEAD_WIDTH: Final = 3.6


@dataclass(frozen=True, slots=True)
class Ink:
    """Colours as `#rrggbb`; no `stroke` means no outline."""

    fill: str
    stroke: str | None = None
    width: float = 1.0


@dataclass(frozen=True, slots=True)
class Circle:
    """A filled circle."""

    middle: Point
    radius: float
    ink: Ink


@dataclass(frozen=True, slots=True)
class RoundedBox:
    """A rectangle with round corners."""

    box: Box
    radius: float
    ink: Ink


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled polygon."""

    points: tuple[Point, ...]
    ink: Ink


@dataclass(frozen=True, slots=True)
class Arrow:
    """A curve, with a head at its end if it has one."""

    curve: BezierPath
    color: str
    width: float = 1.3
    has_head: bool = True

    @property
    def head(self) -> tuple[Point, ...]:
        """The corners of the arrow's head, its tip first; none if it has none."""
        if not self.has_head:
            return ()
        tip, back = self.curve.end, self.curve.bends[-1].arriving
        angle = math.atan2(back.y - tip.y, back.x - tip.x)
        along = Point(math.cos(angle) * _HEAD_LENGTH, math.sin(angle) * _HEAD_LENGTH)
        across = Point(-math.sin(angle) * _HEAD_WIDTH, math.cos(angle) * _HEAD_WIDTH)
        base = tip.moved(*along)
        return tip, base.moved(*across), base.moved(-across.x, -across.y)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line of text."""

    text: str
    color: str
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A line of spans, from the left end of its baseline."""

    start: Point
    size: float
    spans: tuple[Span, ...]


Shape: TypeAlias = Circle | RoundedBox | Polygon | Arrow | Text


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes that belong together; `tooltip` is their full text."""

    shapes: tuple[Shape, ...]
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """Later groups lie on top of earlier ones; no `background` means a transparent one."""

    title: str
    width: float
    height: float
    background: str | None
    groups: tuple[Group, ...]
