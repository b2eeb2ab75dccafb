"""Edges as curves: level where they pass a column, and down a gutter where columns are broken into rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rewardmachines.drawing.layout.coordinates import spaced
from rewardmachines.drawing.layout.geometry import Bend, BezierPath, Point, rounded, straight
from rewardmachines.drawing.layout.layers import Arc, EdgeChain, Layers, Ranking
from rewardmachines.drawing.layout.measures import Role, StateFigure

_GUTTER: Final = 22.0
_TRACK: Final = 9.0
_CORNER: Final = 8.0
_MARGIN: Final = 60.0
"""The width that the turns of edges take of a row, roughly."""

_TURN_COST: Final = 0.12
_EXCESS_COST: Final = 20.0


@dataclass(frozen=True, slots=True)
class Turn:
    """The way of an edge from the end of a row to the start of the next: down, along the gutter, and down again."""

    right: float
    gutter: float
    left: float

    def bends(self, start: Point, end: Point) -> list[Bend]:
        """The way between the two points, with round corners."""
        corners = [
            Point(self.right, start.y),
            Point(self.right, self.gutter),
            Point(self.left, self.gutter),
            Point(self.left, end.y),
        ]
        return rounded([start, *corners, end], _CORNER)


def choose_breaks(
    borders: Sequence[tuple[float, float]], arcs: Sequence[Arc], ranking: Ranking, limit: float
) -> list[int]:
    """The ranks after whose labels rows end, so that rows are no wider than the limit, alike, and few edges turn.

    Args:
        borders: The left and right `x` of each column, all of them in one row.
        arcs: The edges.
        ranking: The ranks of the states.
        limit: The width of the widest row. A column that is wider has a row of its own.
    """
    last = len(borders) // 2
    turning = [0] * last
    for a, b in arcs:
        low, high = sorted((ranking.ranks[a], ranking.ranks[b]))
        for rank in range(low, high):
            turning[rank] += 1
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, last + 2):
        turn = _TURN_COST * turning[end - 1] if end <= last else 0.0
        costs = [(best[start][0] + _row_cost(borders, start, end, limit) + turn, start) for start in range(end)]
        best.append(min(costs))
    breaks: list[int] = []
    end = best[-1][1]
    while end:
        breaks.append(end - 1)
        end = best[end][1]
    return breaks[::-1]


def _row_cost(borders: Sequence[tuple[float, float]], start: int, end: int, limit: float) -> float:
    """The cost of the row of the ranks from `start` up to `end`: more, the more its width differs from the others."""
    right = borders[min(2 * end - 1, len(borders) - 1)][1]
    width = (right - borders[2 * start][0]) / (limit - _MARGIN)
    excess = max(width - 1, 0.0) if end - start > 1 else 0.0
    return 1 + width**2 + _EXCESS_COST * (excess + (excess > 0))


def stack_rows(layers: Layers, y: Sequence[float]) -> list[float]:
    """The heights of all cells, each row moved below the one before it, with a gutter for what turns."""
    moved = list(y)
    bottom = 0.0
    for number, row in enumerate(layers.rows()):
        cells = [cell for column in row for cell in layers.columns[column]]
        top = min(y[cell] - layers.cells[cell].above for cell in cells)
        if number:
            bottom += 2 * _GUTTER + _TRACK * (len(layers.columns[row[0]]) - 1)
        for cell in cells:
            moved[cell] = y[cell] - top + bottom
        bottom = max(moved[cell] + layers.cells[cell].below for cell in cells)
    return moved


def turns(layers: Layers, y: Sequence[float], borders: Sequence[tuple[float, float]]) -> Mapping[int, Turn]:
    """The turn of every edge that enters a row, by the cell in which it does.

    The highest edge takes the outer way on the right and the inner one on the left, so that edges in the same order
    do not cross.
    """
    found: dict[int, Turn] = {}
    for start in layers.starts[1:]:
        leaving = {b: a for chain in layers.chains for a, b in pairwise(chain.cells) if layers.cells[b].column == start}
        by_exit = sorted(leaving, key=lambda b: y[leaving[b]])
        by_entry = sorted(leaving, key=lambda b: y[b])
        before = [cell for column in layers.rows()[layers.starts.index(start) - 1] for cell in layers.columns[column]]
        gutter = max(y[cell] + layers.cells[cell].below for cell in before) + _GUTTER
        right, left = borders[start - 1][1], borders[start][0]
        for outwards, cell in enumerate(reversed(by_exit)):
            found[cell] = Turn(
                right=right + _TRACK * (1 + outwards),
                gutter=gutter + _TRACK * outwards,
                left=left - _TRACK * (1 + by_entry.index(cell)),
            )
    return found


_SLACK: Final = 8.0
"""Where the column is wider than the state by more than this on a side, edges stay level up to its border."""

_STEEPEST: Final = math.radians(45)
"""Steeper, an edge would come near the states above and below."""

_BETWEEN_PORTS: Final = math.radians(22)
_PORT_DISTANCE: Final = 9.0


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of a layout: `y` by cell, the borders of the columns, and turns by the cell that they lead to.

    Edges touch the states in `level` levelly, since something stands beside these states in their own column.
    """

    figures: Sequence[StateFigure]
    middles: Sequence[Point]
    cell_columns: Sequence[int]
    y: Sequence[float]
    borders: Sequence[tuple[float, float]]
    turns: Mapping[int, Turn]
    level: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Port:
    """The point where an edge touches a state, and its direction there."""

    point: Point
    angle: float


def route(grid: Grid, chains: Sequence[EdgeChain]) -> list[BezierPath]:
    """A curve for each chain, in the direction of the edge."""
    rightwards = _ports(grid, [(c.cells[0], c.cells[1]) for c in chains], side=1)
    leftwards = _ports(grid, [(c.cells[-1], c.cells[-2]) for c in chains], side=-1)
    curves: list[BezierPath] = []
    for chain, start, end in zip(chains, rightwards, leftwards, strict=True):
        curve = _curve(grid, chain.cells, start, end)
        curves.append(curve.backwards() if chain.flipped else curve)
    return curves


def _curve(grid: Grid, cells: Sequence[int], start: Port, end: Port) -> BezierPath:
    """The curve from port to port, through the borders of the columns between."""
    first, last = grid.cell_columns[cells[0]], grid.cell_columns[cells[-1]]
    bends: list[Bend] = []
    here, angle = start.point, start.angle
    border = Point(grid.borders[first][1], here.y)
    if _is_level(start, border):
        bends.append(straight(here, border))
        here, angle = border, 0.0
    for cell in cells[1:-1]:
        left, right = grid.borders[grid.cell_columns[cell]]
        near, far = Point(left, grid.y[cell]), Point(right, grid.y[cell])
        if turn := grid.turns.get(cell):
            bends += turn.bends(here, near)
        else:
            bends += [_bend(here, angle, near, math.pi), straight(near, far)]
        here, angle = far, 0.0
    border = Point(grid.borders[last][0], end.point.y)
    if _is_level(end, border):
        bends += [_bend(here, angle, border, math.pi), straight(border, end.point)]
    else:
        bends.append(_bend(here, angle, end.point, end.angle))
    return BezierPath(start.point, tuple(bends))


def _is_level(port: Port, border: Point) -> bool:
    return abs(math.sin(port.angle)) < 1e-9 and abs(border.x - port.point.x) > 1e-9


def _bend(start: Point, leaving: float, end: Point, arriving: float) -> Bend:
    """`arriving` is the direction from the end back to where the curve comes from."""
    reach = max(abs(end.x - start.x) * 0.5, 6.0)
    return Bend(_towards(start, leaving, reach), _towards(end, arriving, reach), end)


def _towards(point: Point, angle: float, length: float) -> Point:
    return point.moved(math.cos(angle) * length, math.sin(angle) * length)


def _ports(grid: Grid, ends: Sequence[tuple[int, int]], *, side: int) -> list[Port]:
    """A port for each pair of a state and the next cell of its edge, on the right (1) or left (-1) of the state."""
    by_state: dict[int, list[int]] = {}
    for number, (state, _) in enumerate(ends):
        by_state.setdefault(state, []).append(number)
    ports: dict[int, Port] = {}
    for state, numbers in by_state.items():
        numbers.sort(key=lambda n: (grid.y[ends[n][1]], n))
        climbs = [grid.y[ends[n][1]] - grid.middles[state].y for n in numbers]
        ports.update(zip(numbers, _state_ports(grid, state, climbs, side), strict=True))
    return [ports[number] for number in range(len(ends))]


def _state_ports(grid: Grid, state: int, climbs: Sequence[float], side: int) -> list[Port]:
    figure, middle = grid.figures[state], grid.middles[state]
    left, right = grid.borders[grid.cell_columns[state]]
    slack = (right - left - figure.width) / 2
    ahead = 0.0 if side > 0 else math.pi
    if figure.is_round and slack <= _SLACK and state not in grid.level:
        angles = _fan([math.atan2(climb, 70.0) for climb in climbs], _STEEPEST, _BETWEEN_PORTS)
        return [_round_port(figure, middle, angle if side > 0 else math.pi - angle) for angle in angles]
    limit = figure.height / 2 - (8 if figure.is_round else 10)
    offsets = _fan([climb * 0.12 for climb in climbs], limit, _PORT_DISTANCE)
    return [Port(Point(middle.x + side * _reach(figure, dy), middle.y + dy), ahead) for dy in offsets]


def _fan(wishes: Sequence[float], limit: float, distance: float) -> list[float]:
    """The wishes within ±`limit`, apart from each other as far as there is room for it."""
    room = 2 * limit / max(len(wishes) - 1, 1)
    clipped = [min(max(wish, -limit), limit) for wish in wishes]
    offsets = spaced(clipped, [1.0] * len(wishes), [min(distance, room)] * (len(wishes) - 1))
    shift = max(-limit - offsets[0], 0.0) - max(offsets[-1] - limit, 0.0)
    return [value + shift for value in offsets]


def _round_port(figure: StateFigure, middle: Point, angle: float) -> Port:
    radius = figure.width / 2
    if figure.role is Role.REJECTING:
        eighth = math.pi / 4
        radius /= math.cos((angle + eighth / 2) % eighth - eighth / 2)
    return Port(_towards(middle, angle, radius), angle)


def _reach(figure: StateFigure, dy: float) -> float:
    """The distance to the border of the state on its side, `dy` below its middle."""
    if not figure.is_round:
        return figure.width / 2
    radius = figure.width / 2
    if figure.role is Role.REJECTING:
        return radius - max(abs(dy) - radius * math.tan(math.pi / 8), 0.0)
    return math.sqrt(radius**2 - dy**2)


def loop(figure: StateFigure, middle: Point, height: float) -> BezierPath:
    """The curve of self-loops: from the top of the state up to this height above it, and back."""
    foot = 9.0
    depth = figure.height / 2 if not figure.is_round or figure.role is Role.REJECTING else _reach(figure, foot)
    start, end = middle.moved(-foot, -depth), middle.moved(foot, -depth)
    # A cubic curve rises to three quarters of the height of its control points.
    rise = (height - 1 + figure.height / 2 - depth) * 4 / 3
    return BezierPath(start, (Bend(start.moved(-15, -rise), end.moved(15, -rise), end),))
