"""Order and coordinates of cells: few crossings, close to their neighbours, never closer than allowed."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from rewardmachines.drawing.layout.layers import Cell, CellKind, Layers, Links

Columns: TypeAlias = list[list[int]]

_ORDER_SWEEPS: Final = 24
_ORDER_WORK: Final = 400_000
"""The number of cell visits in all: large pictures get fewer sweeps."""

_STARTS: Final = 12
_START_WORK: Final = 60_000
"""The number of initial orders, and the number of cell visits for them: large pictures get one order only."""

_PATIENCE: Final = 6
"""The number of sweeps without progress after which the search ends."""

_MAX_SWAPPED: Final = 1_500
"""Larger pictures are ordered by barycenters alone."""


def order(layers: Layers) -> Columns:
    """Columns with few crossings; what could be either way keeps the order in which a walk meets it."""
    links = layers.links()
    sweeps = min(_ORDER_SWEEPS, max(2, _ORDER_WORK // len(layers.cells)))
    best: Columns = []
    fewest = math.inf
    for start in range(max(1, min(_STARTS, _START_WORK // (sweeps * len(layers.cells))))):
        columns, crossings = _swept(layers, links, _walked(layers, links[1], start), sweeps)
        if crossings < fewest:
            best, fewest = columns, crossings
        if not fewest:
            break
    return best


def _swept(layers: Layers, links: tuple[Links, Links], columns: Columns, sweeps: int) -> tuple[Columns, int]:
    """The best order that sweeps to the right and to the left lead to, and its crossings."""
    left, right = links
    best, fewest, improved = [list(c) for c in columns], _crossings(columns, right), 0
    for sweep in range(sweeps):
        if not fewest or sweep - improved > _PATIENCE:
            break
        _sweep(columns, left if sweep % 2 == 0 else right, forwards=sweep % 2 == 0)
        if len(layers.cells) <= _MAX_SWAPPED:
            _swap_neighbours(columns, left, right)
        crossings = _crossings(columns, right)
        if crossings < fewest:
            best, fewest, improved = [list(c) for c in columns], crossings, sweep
    return best, fewest


def _walked(layers: Layers, right: Links, start: int) -> Columns:
    """Depth first from the left, which leaves a tree without crossings; each start has its own order of edges."""
    columns: Columns = [[] for _ in layers.columns]
    seen = [False] * len(layers.cells)
    for column in layers.columns:
        stack = list(reversed(column))
        while stack:
            cell = stack.pop()
            if not seen[cell]:
                seen[cell] = True
                columns[layers.cells[cell].column].append(cell)
                stack.extend(_permuted(right[cell], start + cell if start else 0))
    return columns


def _permuted(cells: Sequence[int], number: int) -> Sequence[int]:
    """Backwards for the number 0, otherwise in an order that the number decides."""
    if not number:
        return list(reversed(cells))
    turn = number % max(len(cells), 1)
    turned = [*cells[turn:], *cells[:turn]]
    return turned if number % 3 else turned[::-1]


def _sweep(columns: Columns, links: Links, *, forwards: bool) -> None:
    """Sorts each column by the mean position of its neighbours in the one sorted before it."""
    position = _positions(columns)
    for column in columns if forwards else reversed(columns):
        keys = {
            cell: sum(position[n] for n in links[cell]) / len(links[cell]) if links[cell] else float(position[cell])
            for cell in column
        }
        column.sort(key=keys.__getitem__)
        for index, cell in enumerate(column):
            position[cell] = index


def _swap_neighbours(columns: Columns, left: Links, right: Links) -> None:
    position = _positions(columns)
    for column in columns:
        for index in range(len(column) - 1):
            a, b = column[index : index + 2]
            gain = sum(
                _inversions(links[a], links[b], position) - _inversions(links[b], links[a], position)
                for links in (left, right)
            )
            if gain > 0:
                column[index], column[index + 1] = b, a
                position[a], position[b] = index + 1, index


def _inversions(upper: Sequence[int], lower: Sequence[int], position: Sequence[int]) -> int:
    """The number of crossings between the edges of the upper cell and those of the lower one."""
    return sum(position[u] > position[v] for u in upper for v in lower)


def _crossings(columns: Columns, right: Links) -> int:
    position = _positions(columns)
    total = 0
    for column in columns:
        passed: list[int] = []
        for cell in column:
            ends = [position[n] for n in right[cell]]
            total += sum(len(passed) - bisect_right(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return total


def _positions(columns: Columns) -> list[int]:
    position = [0] * sum(map(len, columns))
    for column in columns:
        for index, cell in enumerate(column):
            position[cell] = index
    return position


_SWEEPS: Final = 80
_WORK: Final = 400_000
_GAPS: Final = {CellKind.STATE: 26.0, CellKind.LABEL: 12.0, CellKind.PASSAGE: 14.0}
_STIFF: Final = 8.0
"""Long edges are straight before they are anything else."""

_SHORT: Final = 3
_FINISHES: Final = 8
_NEARLY_LEVEL: Final = 18.0
_NARROW: Final = 26.0
_WIDE: Final = 110.0
_TIGHT: Final = 0.7
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
    """The `y` of each cell, by sweeps in which columns move towards the means of their neighbours."""
    left, right = _within_rows(layers)
    chains = _pieces(layers)
    distances = [[_distance(layers.cells[a], layers.cells[b]) for a, b in pairwise(column)] for column in columns]
    y = [0.0] * len(layers.cells)
    for column, gaps in zip(columns, distances, strict=True):
        _assign(y, column, spaced([0.0] * len(column), [1.0] * len(column), gaps))
    sweeps = min(_SWEEPS, max(4, _WORK // len(layers.cells)))
    for sweep in range(sweeps):
        forwards = sweep % 2 == 0
        sides = (left, right) if sweep >= sweeps // 3 else (left,) if forwards else (right,)
        for index in range(len(columns)) if forwards else range(len(columns) - 1, -1, -1):
            wishes, weights = zip(*(_wish(cell, sides, layers.cells, y) for cell in columns[index]), strict=True)
            _assign(y, columns[index], spaced(wishes, weights, distances[index]))
        if sweep % 4 == 3:
            _straighten(y, layers, columns, distances, [_between_states(chain, layers) for chain in chains])
    for _ in range(_FINISHES):
        _straighten(y, layers, columns, distances, [_wavering(chain, y, layers) for chain in chains])
    return y


def _within_rows(layers: Layers) -> tuple[Links, Links]:
    """The neighbours of each cell in the columns beside it; rows stand one below the other, and are no neighbours."""
    left, right = layers.links()
    for start in layers.starts[1:]:
        for cell in layers.columns[start]:
            left[cell] = []
        for cell in layers.columns[start - 1]:
            right[cell] = []
    return left, right


def _pieces(layers: Layers) -> list[Sequence[int]]:
    """The chains, broken where they turn from one row to the next."""
    pieces: list[Sequence[int]] = []
    for chain in layers.chains:
        turns = [i for i, cell in enumerate(chain.cells) if i and layers.cells[cell].column in layers.starts]
        pieces += [chain.cells[a:b] for a, b in pairwise((0, *turns, len(chain.cells)))]
    return pieces


def _between_states(cells: Sequence[int], layers: Layers) -> Sequence[int]:
    return [cell for cell in cells if layers.cells[cell].kind is not CellKind.STATE]


def _wavering(cells: Sequence[int], y: Sequence[float], layers: Layers) -> Sequence[int]:
    """The part of an edge that should be level: all but its ends, and these too if it is short and nearly level."""
    short = len(cells) <= _SHORT and abs(y[cells[0]] - y[cells[-1]]) < _NEARLY_LEVEL
    return cells if short else _between_states(cells, layers)


def _assign(y: list[float], column: Sequence[int], heights: Sequence[float]) -> None:
    for cell, height in zip(column, heights, strict=True):
        y[cell] = height


def _straighten(
    y: list[float],
    layers: Layers,
    columns: Columns,
    distances: Sequence[Sequence[float]],
    chains: Sequence[Sequence[int]],
) -> None:
    """Makes each chain level over as many columns at a time as what stands above and below it allows."""
    row = {cell: index for column in columns for index, cell in enumerate(column)}
    for chain in chains:
        run: list[int] = []
        low, high = -math.inf, math.inf
        for cell in chain:
            number, index = layers.cells[cell].column, row[cell]
            column, gaps = columns[number], distances[number]
            above = y[column[index - 1]] + gaps[index - 1] if index else -math.inf
            below = y[column[index + 1]] - gaps[index] if index < len(gaps) else math.inf
            if max(low, above) > min(high, below):
                _level(y, run, low, high)
                run, low, high = [], -math.inf, math.inf
            run.append(cell)
            low, high = max(low, above), min(high, below)
        _level(y, run, low, high)


def _level(y: list[float], run: Sequence[int], low: float, high: float) -> None:
    if not run or low > high:  # rounding may leave less than no room
        return
    level = min(max(sum(y[cell] for cell in run) / len(run), low), high)
    for cell in run:
        y[cell] = level


def _wish(cell: int, sides: Sequence[Links], cells: Sequence[Cell], y: Sequence[float]) -> tuple[float, float]:
    """The weighted mean of the neighbours, and how much it matters."""
    total = weighted = 0.0
    for links in sides:
        for neighbour in links[cell]:
            weight = _weight(cells[cell].kind, cells[neighbour].kind)
            total += weight
            weighted += weight * y[neighbour]
    return (weighted / total, total) if total else (y[cell], 0.1)


def _weight(a: CellKind, b: CellKind) -> float:
    return 1.0 if CellKind.STATE in (a, b) else _STIFF


def _distance(upper: Cell, lower: Cell) -> float:
    return upper.below + lower.above + max(_GAPS[upper.kind], _GAPS[lower.kind])


def column_edges(
    layers: Layers, columns: Columns, y: Sequence[float], *, tight: bool = False
) -> list[tuple[float, float]]:
    """The left and right `x` of each column; every row starts anew, and columns may be close together."""
    _, right = layers.links()
    edges: list[tuple[float, float]] = []
    x = 0.0
    for number, column in enumerate(columns):
        if number in layers.starts:
            x = 0.0
        wide = max((layers.cells[cell].width for cell in column), default=0.0)
        edges.append((x, x + wide))
        climb = max((abs(y[n] - y[cell]) for cell in column for n in right[cell]), default=0.0)
        x += wide + min(_NARROW + _SLOPE * climb, _WIDE) * (_TIGHT if tight else 1.0)
    return edges
