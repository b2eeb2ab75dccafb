"""Where places stand: close to their neighbours, in the given order, never closer than allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rewardmachines.drawing.layers import Kind, Layers, Links, Place
from rewardmachines.drawing.ordering import Columns

_SWEEPS: Final = 24
_WORK: Final = 600_000
_GAPS: Final = {Kind.STATE: 26.0, Kind.LABEL: 12.0, Kind.PASSAGE: 14.0}
_STIFF: Final = 8.0
"""Long edges are straight before they are anything else."""

_NARROW: Final = 26.0
_WIDE: Final = 96.0
_SLOPE: Final = 0.2
"""Columns are further apart where an edge between them climbs."""


def spaced(wishes: Sequence[float], weights: Sequence[float], distances: Sequence[float]) -> list[float]:
    """Increasing numbers nearest to the wishes (least squares) with at least these distances between successive ones.

    Pool adjacent violators, after subtracting the distances.
    """
    offsets = [0.0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    pools: list[tuple[float, float, int]] = []
    for wish, weight, offset in zip(wishes, weights, offsets, strict=False):
        mean, total, size = wish - offset, weight, 1
        while pools and pools[-1][0] > mean:
            other, weight_before, size_before = pools.pop()
            mean = (mean * total + other * weight_before) / (total + weight_before)
            total, size = total + weight_before, size + size_before
        pools.append((mean, total, size))
    levels = [mean for mean, _, size in pools for _ in range(size)]
    return [level + offset for level, offset in zip(levels, offsets, strict=False)]


def heights(layers: Layers, columns: Columns) -> list[float]:
    """The `y` of each place, by sweeps in which columns move towards the means of their neighbours."""
    places = layers.places
    left, right = layers.links()
    distances = [[_distance(places[a], places[b]) for a, b in zip(c, c[1:], strict=False)] for c in columns]
    y = [0.0] * len(places)
    for column, gaps in zip(columns, distances, strict=True):
        for place, height in zip(column, spaced([0.0] * len(column), [1.0] * len(column), gaps), strict=True):
            y[place] = height
    sweeps = min(_SWEEPS, max(4, _WORK // len(places)))
    for sweep in range(sweeps):
        both = sweep >= sweeps // 2
        indices = range(len(columns)) if sweep % 2 == 0 else range(len(columns) - 1, -1, -1)
        for index in indices:
            sides = (left, right) if both else (left,) if sweep % 2 == 0 else (right,)
            wishes = [_wish(place, sides, places, y) for place in columns[index]]
            found = spaced([w for w, _ in wishes], [weight for _, weight in wishes], distances[index])
            for place, height in zip(columns[index], found, strict=True):
                y[place] = height
    return y


def _wish(place: int, sides: Sequence[Links], places: Sequence[Place], y: Sequence[float]) -> tuple[float, float]:
    """The weighted mean of the neighbours, and how much it matters."""
    total = weighted = 0.0
    for links in sides:
        for neighbour in links[place]:
            weight = _weight(places[place].kind, places[neighbour].kind)
            total += weight
            weighted += weight * y[neighbour]
    return (weighted / total, total) if total else (y[place], 0.1)


def _weight(a: Kind, b: Kind) -> float:
    return 1.0 if Kind.STATE in (a, b) else _STIFF


def _distance(upper: Place, lower: Place) -> float:
    return upper.below + lower.above + max(_GAPS[upper.kind], _GAPS[lower.kind])


def column_edges(layers: Layers, columns: Columns, y: Sequence[float]) -> list[tuple[float, float]]:
    """The left and right `x` of each column."""
    _, right = layers.links()
    edges: list[tuple[float, float]] = []
    x = 0.0
    for column in columns:
        wide = max(layers.places[place].width for place in column)
        edges.append((x, x + wide))
        climb = max((abs(y[n] - y[place]) for place in column for n in right[place]), default=0.0)
        x += wide + min(_NARROW + _SLOPE * climb, _WIDE)
    return edges
