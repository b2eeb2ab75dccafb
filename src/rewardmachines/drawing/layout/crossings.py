"""The order of cells from top to bottom within each column, so that few edges cross (barycenters, then swaps)."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from typing import Final, TypeAlias

from rewardmachines.drawing.layout.layers import Layers, Links

Columns: TypeAlias = list[list[int]]

_SWEEPS: Final = 24
_WORK: Final = 400_000
"""How many cells are visited in all: large pictures get fewer sweeps."""

_MAX_SWAPPED: Final = 1_500
"""Larger pictures are ordered by barycenters alone."""


def order(layers: Layers) -> Columns:
    """Columns with few crossings; what could be either way keeps the order in which a walk meets it."""
    left, right = layers.links()
    columns = _walked(layers, right)
    best, fewest = [list(c) for c in columns], _crossings(columns, right)
    for sweep in range(min(_SWEEPS, max(2, _WORK // len(layers.cells)))):
        if not fewest:
            break
        _sweep(columns, left if sweep % 2 == 0 else right, forwards=sweep % 2 == 0)
        if len(layers.cells) <= _MAX_SWAPPED:
            _swap_neighbours(columns, left, right)
        crossings = _crossings(columns, right)
        if crossings < fewest:
            best, fewest = [list(c) for c in columns], crossings
    return best


def _walked(layers: Layers, right: Links) -> Columns:
    """Depth first from the left, which leaves a tree without crossings."""
    columns: Columns = [[] for _ in layers.columns]
    seen = [False] * len(layers.cells)
    for column in layers.columns:
        stack = list(reversed(column))
        while stack:
            cell = stack.pop()
            if not seen[cell]:
                seen[cell] = True
                columns[layers.cells[cell].column].append(cell)
                stack.extend(reversed(right[cell]))
    return columns


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
    """How often edges of the upper cell cross those of the lower one."""
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
