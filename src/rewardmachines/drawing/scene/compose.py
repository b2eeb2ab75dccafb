"""A hierarchy as a scene: a panel for each machine, and the arrangement of panels on a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.geometry import Box, Point
from rewardmachines.drawing.layout.machine_layout import MachineLayout, lay_out, moved
from rewardmachines.drawing.layout.measures import LINE_HEIGHT, text_width
from rewardmachines.drawing.options import STANDARD, DrawingOptions
from rewardmachines.drawing.scene.machine_shapes import NO_LIGHTS, Lights, Look, baseline
from rewardmachines.drawing.scene.palette import background_of, machine_colors, palette_of, shown_machines
from rewardmachines.drawing.scene.shapes import Group, Ink, RoundedBox, Scene, Shape, Span, Text
from rewardmachines.drawing.symbols import cut, printable, wrap

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


_TITLE_FONT: Final = 13.0
_TITLE_LENGTH: Final = 48
_TITLE_GAP: Final = 12.0
_LEGEND_FONT: Final = 11.0
_LEGEND_WIDTH: Final = 380.0
_LEGEND_GAP: Final = 14.0
_SIGN_GAP: Final = 10.0
_WIDEST_LETTER: Final = 1.1
_PADDING: Final = 18.0
_LOOSE: Final = 4.0
"""The padding where panels have no frames."""


def padding(options: DrawingOptions) -> float:
    """The distance between the border of a panel and what is in it."""
    return _PADDING if options.frames else _LOOSE


@dataclass(frozen=True, slots=True)
class Panel:
    """A machine and its layout, before the panel has a place on the page."""

    machine: RewardMachine
    layout: MachineLayout
    color: str
    options: DrawingOptions

    @property
    def size(self) -> tuple[float, float]:
        """The least width and height."""
        return (
            self._inner_width + 2 * self._padding,
            self._top + self.layout.height + self._legend_height + self._padding,
        )

    @property
    def _padding(self) -> float:
        return padding(self.options)

    @property
    def _top(self) -> float:
        """The distance from the upper border of the panel to its layout."""
        title = 0.7 * self._padding + self._title_height if self.options.titles else 0.0
        return title + max(0.9 * self._padding, _TITLE_GAP if self.options.titles else 0.0)

    @property
    def _title(self) -> tuple[str, ...]:
        return cut(printable(self.machine.name), _TITLE_LENGTH)

    @property
    def _title_width(self) -> float:
        return max(text_width(line, _TITLE_FONT, bold=True) for line in self._title) + 20

    @property
    def _title_height(self) -> float:
        return len(self._title) * _TITLE_FONT * LINE_HEIGHT + 7

    @property
    def _inner_width(self) -> float:
        title = self._title_width if self.options.titles else 0.0
        return max(self.layout.width, title, _LEGEND_WIDTH if self.layout.legend else 0.0)

    @property
    def _sign_width(self) -> float:
        return max(text_width(sign, _LEGEND_FONT, bold=True) for sign, _ in self.layout.legend) + _SIGN_GAP

    @property
    def _legend(self) -> list[tuple[str, str, list[str]]]:
        """The legend: sign, formula, and lines of each numbered formula."""
        if not self.layout.legend:
            return []
        room = self._inner_width - self._sign_width
        return [(sign, formula, _legend_lines(formula, room)) for sign, formula in self.layout.legend]

    @property
    def _legend_height(self) -> float:
        lines = sum(len(lines) for _, _, lines in self._legend)
        return _LEGEND_GAP + lines * _LEGEND_FONT * LINE_HEIGHT if lines else 0.0

    def draw(self, area: Area, look: Look) -> list[Group]:
        """The shapes of the panel in this area of the page."""
        frame = Box(Point(area.x + area.width / 2, area.y + area.height / 2), area.width, area.height)
        groups: list[Group] = []
        if self.options.frames:
            groups.append(Group((RoundedBox(frame, 10, look.palette.panel),)))
        if self.options.titles:
            groups.append(Group(self._title_shapes(area, look), printable(self.machine.name)))
        # The layout is in the middle of what title and legend leave free.
        top, bottom = area.y + self._top, area.y + area.height - self._padding - self._legend_height
        down = top + (bottom - top - self.layout.height) / 2
        layout = moved(self.layout, frame.middle.x - self.layout.width / 2, down)
        return [*groups, *look.draw(self.machine.name, layout), *self._legend_groups(Point(area.x, bottom), look)]

    def _title_shapes(self, area: Area, look: Look) -> tuple[Shape, ...]:
        corner = Point(area.x + self._padding * 0.7, area.y + self._padding * 0.7)
        box = Box(corner.moved(self._title_width / 2, self._title_height / 2), self._title_width, self._title_height)
        lines = [
            Text(
                Point(box.left + 10, baseline(box.top + 3.5 + (number + 0.5) * _TITLE_FONT * LINE_HEIGHT, _TITLE_FONT)),
                _TITLE_FONT,
                (Span(line, self.color, bold=True),),
            )
            for number, line in enumerate(self._title)
        ]
        return RoundedBox(box, 6, Ink(look.palette.tint(self.color))), *lines

    def _legend_groups(self, corner: Point, look: Look) -> list[Group]:
        """The formulas that are numbered; the corner is that of the panel's border and the legend's top."""
        left, y = corner.x + self._padding, corner.y + _LEGEND_GAP
        groups: list[Group] = []
        for sign, formula, lines in self._legend:
            first = baseline(y + _LEGEND_FONT * LINE_HEIGHT / 2, _LEGEND_FONT)
            texts = [Text(Point(left, first), _LEGEND_FONT, (Span(sign, look.palette.text, bold=True),))]
            for number, line in enumerate(lines):
                start = Point(left + self._sign_width, first + number * _LEGEND_FONT * LINE_HEIGHT)
                texts.append(Text(start, _LEGEND_FONT, (Span(line, look.palette.text),)))
            y += len(lines) * _LEGEND_FONT * LINE_HEIGHT
            groups.append(Group(tuple(texts), formula))
        return groups


def _legend_lines(formula: str, room: float) -> list[str]:
    """The formula in lines that fit; only what has no space in it is broken anywhere."""

    def width(text: str) -> float:
        return text_width(text, _LEGEND_FONT)

    longest = int(room / (_LEGEND_FONT * _WIDEST_LETTER))
    lines = wrap(formula, room, width)
    return [piece for line in lines for piece in ([line] if width(line) <= room else cut(line, longest))]


_MARGIN: Final = 4.0
"""Around the page, where panels have no frames."""


def compose(
    hierarchy: Hierarchy,
    options: DrawingOptions = STANDARD,
    *,
    lights: Lights = NO_LIGHTS,
    aspect: float = ASPECT,
) -> Scene:
    """The scene of the root and all machines that it calls, or of one machine.

    Args:
        hierarchy: The hierarchy.
        options: The options of the drawing.
        lights: The states and calls that are lit.
        aspect: The width of the best page, divided by its height.

    Raises:
        UnknownMachineError: There is no machine of the name in the options.
    """
    palette = palette_of(options)
    colors = machine_colors(hierarchy, palette)
    look = Look(palette, colors, lights)
    margin = GAP if options.frames else _MARGIN
    page_width = options.width - 2 * margin
    inner_width = page_width - 2 * padding(options)
    panels = [
        Panel(machine, lay_out(machine, options.direction, inner_width), colors[machine.name], options)
        for machine in shown_machines(hierarchy, options)
    ]
    page = arrange([panel.size for panel in panels], aspect, page_width)
    groups: list[Group] = []
    for panel, area in zip(panels, page.areas, strict=True):
        groups += panel.draw(Area(area.x + margin, area.y + margin, area.width, area.height), look)
    title = printable(options.machine or hierarchy.root)
    width, height = page.width + 2 * margin, page.height + 2 * margin
    return Scene(title, width, height, background_of(options), tuple(groups))
