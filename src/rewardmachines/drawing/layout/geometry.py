"""Points, boxes and curves. As in SVG, `y` grows downwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

_EXACT: Final = 1e-3
_CIRCLE: Final = 0.5523
"""The distance of a quarter circle's control points from its ends, in radii."""


class Point(NamedTuple):
    """A point of the page."""

    x: float
    y: float

    def moved(self, dx: float, dy: float) -> Point:
        return Point(self.x + dx, self.y + dy)

    def turned(self) -> Point:
        """The point mirrored so that what leads to the right leads down."""
        return Point(self.y, self.x)


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
class BezierPath:
    """A path of cubic Bézier curves."""

    start: Point
    bends: tuple[Bend, ...]

    @property
    def end(self) -> Point:
        return self.bends[-1].end

    def moved(self, dx: float, dy: float) -> BezierPath:
        bends = tuple(Bend(*(point.moved(dx, dy) for point in bend)) for bend in self.bends)
        return BezierPath(self.start.moved(dx, dy), bends)

    def turned(self) -> BezierPath:
        """The curve mirrored so that what leads to the right leads down."""
        bends = tuple(Bend(*(point.turned() for point in bend)) for bend in self.bends)
        return BezierPath(self.start.turned(), bends)

    def backwards(self) -> BezierPath:
        """The same path, from its end to its start."""
        starts = [self.start, *(bend.end for bend in self.bends)]
        pairs = list(zip(starts, self.bends, strict=False))
        return BezierPath(self.end, tuple(Bend(bend.arriving, bend.leaving, start) for start, bend in reversed(pairs)))

    def samples(self, per_bend: int = 12) -> list[Point]:
        """Points along the curve, both ends among them."""
        points = [self.start]
        for leaving, arriving, end in self.bends:
            start = points[-1]
            points += [_at(start, leaving, arriving, end, step / per_bend) for step in range(1, per_bend + 1)]
        return points


def outside(curve: BezierPath, box: Box) -> tuple[BezierPath, ...]:
    """The curve without what lies in the box, if one of its straight pieces leads through it; otherwise the curve."""
    start = curve.start
    for number, bend in enumerate(curve.bends):
        if gap := _gap(start, bend.end, box):
            before = BezierPath(curve.start, (*curve.bends[:number], straight(start, gap[0])))
            after = BezierPath(gap[1], (straight(gap[1], bend.end), *curve.bends[number + 1 :]))
            return before, after
        start = bend.end
    return (curve,)


def _gap(start: Point, end: Point, box: Box) -> tuple[Point, Point] | None:
    """The points where a level or upright piece enters and leaves the box; None if it is not such a piece."""
    if abs(start.y - end.y) < _EXACT and box.top < start.y < box.bottom:
        sides = (Point(box.left, start.y), Point(box.right, start.y))
        inside = min(start.x, end.x) <= box.left + _EXACT and box.right <= max(start.x, end.x) + _EXACT
        forwards = start.x < end.x
    elif abs(start.x - end.x) < _EXACT and box.left < start.x < box.right:
        sides = (Point(start.x, box.top), Point(start.x, box.bottom))
        inside = min(start.y, end.y) <= box.top + _EXACT and box.bottom <= max(start.y, end.y) + _EXACT
        forwards = start.y < end.y
    else:
        return None
    return (sides if forwards else sides[::-1]) if inside else None


def straight(start: Point, end: Point) -> Bend:
    """A bend that is a straight line."""
    third = Point((end.x - start.x) / 3, (end.y - start.y) / 3)
    return Bend(start.moved(*third), end.moved(-third.x, -third.y), end)


def rounded(points: Sequence[Point], radius: float) -> list[Bend]:
    """The way through the points from the first of them, straight except at the corners between, which are round."""
    bends: list[Bend] = []
    here = points[0]
    for corner, following in pairwise(points[1:]):
        # Half of each side is left for the corner at its other end.
        reach = min(radius, math.dist(here, corner), math.dist(corner, following) / 2)
        near, far = _between(corner, here, reach), _between(corner, following, reach)
        bends += [
            straight(here, near),
            Bend(_between(near, corner, reach * _CIRCLE), _between(far, corner, reach * _CIRCLE), far),
        ]
        here = far
    return [*bends, straight(here, points[-1])]


def _between(start: Point, end: Point, distance: float) -> Point:
    """The point at this distance from the start, on the way to the end."""
    share = distance / max(math.dist(start, end), 1e-9)
    return Point(start.x + (end.x - start.x) * share, start.y + (end.y - start.y) * share)


def _at(start: Point, leaving: Point, arriving: Point, end: Point, t: float) -> Point:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    points = (start, leaving, arriving, end)
    return Point(
        sum(w * p.x for w, p in zip(weights, points, strict=True)),
        sum(w * p.y for w, p in zip(weights, points, strict=True)),
    )
