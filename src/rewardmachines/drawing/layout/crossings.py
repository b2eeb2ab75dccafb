"""The order of cells from top to bottom within each column, so that few edges cross (barycenters, then swaps)."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Sequence
from typing import Final, TypeAlias

from rewardmachines.drawing.layout.layers import Layers, Links

Columns: TypeAlias = list[list[int]]

_SWEEPS: Final = 24
_WORK: Final = 400_000
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
    sweeps = min(_SWEEPS, max(2, _WORK // len(layers.cells)))
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
