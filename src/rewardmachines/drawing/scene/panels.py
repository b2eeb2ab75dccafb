"""The arrangement of machines on a page: the root first, the others in rows below it or beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

GAP: Final = 18.0
ASPECT: Final = 1.6
"""The width of the best page, divided by its height."""

_TOLERANCE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of the page, by its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The area of each panel, and the size of the page."""

    areas: tuple[Area, ...]
    width: float
    height: float

    def cost(self, aspect: float, widest: float) -> tuple[float, float]:
        """The excess over the width of the page, and then the width of the best-shaped page around the arrangement."""
        return max(self.width - widest, 0.0), max(self.width, self.height * aspect)


def arrange(sizes: Sequence[tuple[float, float]], aspect: float = ASPECT, widest: float = math.inf) -> Arrangement:
    """The best of several arrangements of panels.

    Args:
        sizes: The least width and height of each panel.
        aspect: The width of the best page, divided by its height.
        widest: The width of the page, which is kept if that is possible.
    """
    below = [_rows(sizes, width) for width in _widths(sizes)]
    beside = [_beside(sizes, width) for width in _widths(sizes[1:])]
    return min([*below, *beside], key=lambda page: page.cost(aspect, widest))


def _widths(sizes: Sequence[tuple[float, float]]) -> list[float]:
    """Widths of page at which rows could break differently."""
    widest = max((width for width, _ in sizes), default=0.0)
    sums = [0.0]
    for width, _ in sizes:
        sums.append(sums[-1] + width + GAP)
    candidates = {b - a - GAP for i, a in enumerate(sums) for b in sums[i + 1 : i + 9]}
    return sorted(max(width, widest) for width in candidates if width >= widest - _TOLERANCE)


def _rows(sizes: Sequence[tuple[float, float]], page: float) -> Arrangement:
    """Rows of panels, filled from left to right; the panels of a row are equally high and fill the page."""
    rows: list[list[tuple[float, float]]] = []
    for size in sizes:
        if rows and sum(width + GAP for width, _ in rows[-1]) + size[0] <= page + _TOLERANCE:
            rows[-1].append(size)
        else:
            rows.append([size])
    width = max(sum(w + GAP for w, _ in row) - GAP for row in rows)
    areas: list[Area] = []
    y = 0.0
    for row in rows:
        height = max(h for _, h in row)
        stretch = (width - sum(w + GAP for w, _ in row) + GAP) / len(row)
        x = 0.0
        for w, _ in row:
            areas.append(Area(x, y, w + stretch, height))
            x += w + stretch + GAP
        y += height + GAP
    return Arrangement(tuple(areas), width, y - GAP)


def _beside(sizes: Sequence[tuple[float, float]], page: float) -> Arrangement:
    """The root on the left, as high as the rows of the others on its right."""
    (width, height), *others = sizes
    rows = _rows(others, page)
    whole = max(height, rows.height)
    areas = _stretched(rows.areas, whole - rows.height)
    moved = (Area(a.x + width + GAP, a.y, a.width, a.height) for a in areas)
    return Arrangement((Area(0, 0, width, whole), *moved), width + GAP + rows.width, whole)


def _stretched(areas: Sequence[Area], more: float) -> list[Area]:
    """The same rows, made higher so that together they are higher by `more`."""
    starts = sorted({area.y for area in areas})
    share = more / len(starts)
    return [Area(a.x, a.y + starts.index(a.y) * share, a.width, a.height + share) for a in areas]
