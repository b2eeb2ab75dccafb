"""Points, boxes and curves. As in SVG, `y` grows downwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Point(NamedTuple):
    """A point of the page."""

    x: float
    y: float

    def moved(self, dx: float, dy: float) -> Point:
        return Point(self.x + dx, self.y + dy)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, by its middle."""

    middle: Point
    width: float
    height: float

    @property
    def left(self) -> float:
        return self.middle.x - self.width / 2

    @property
    def right(self) -> float:
        return self.middle.x + self.width / 2

    @property
    def top(self) -> float:
        return self.middle.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.middle.y + self.height / 2

    def moved(self, dx: float, dy: float) -> Box:
        return Box(self.middle.moved(dx, dy), self.width, self.height)

    def overlaps(self, other: Box) -> bool:
        """Whether two boxes have a common inner point."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


class Bend(NamedTuple):
    """A cubic Bézier curve from wherever one is: two control points and the end."""

    leaving: Point
    arriving: Point
    end: Point


@dataclass(frozen=True, slots=True)
class Curve:
    """A path of cubic Bézier curves."""

    start: Point
    bends: tuple[Bend, ...]

    @property
    def end(self) -> Point:
        return self.bends[-1].end

    def moved(self, dx: float, dy: float) -> Curve:
        bends = tuple(Bend(*(point.moved(dx, dy) for point in bend)) for bend in self.bends)
        return Curve(self.start.moved(dx, dy), bends)

    def backwards(self) -> Curve:
        """The same path, from its end to its start."""
        starts = [self.start, *(bend.end for bend in self.bends)]
        pairs = list(zip(starts, self.bends, strict=False))
        return Curve(self.end, tuple(Bend(bend.arriving, bend.leaving, start) for start, bend in reversed(pairs)))

    def samples(self, per_bend: int = 12) -> list[Point]:
        """Points along the curve, both ends among them."""
        points = [self.start]
        for leaving, arriving, end in self.bends:
            start = points[-1]
            points += [_at(start, leaving, arriving, end, step / per_bend) for step in range(1, per_bend + 1)]
        return points


def straight(start: Point, end: Point) -> Bend:
    """A bend that is a straight line."""
    third = Point((end.x - start.x) / 3, (end.y - start.y) / 3)
    return Bend(start.moved(*third), end.moved(-third.x, -third.y), end)


def _at(start: Point, leaving: Point, arriving: Point, end: Point, t: float) -> Point:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    points = (start, leaving, arriving, end)
    return Point(
        sum(w * p.x for w, p in zip(weights, points, strict=True)),
        sum(w * p.y for w, p in zip(weights, points, strict=True)),
    )
