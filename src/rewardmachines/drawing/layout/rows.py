"""Columns in rows, like words in lines of text: where a row ends, and how edges get from one row to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rewardmachines.drawing.layout.geometry import Bend, Point, rounded
from rewardmachines.drawing.layout.layers import Layers
from rewardmachines.drawing.layout.ranking import Arc, Ranking

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
