"""A hierarchy as a scene: a panel for each machine, and what its layout says, in colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.geometry import Box, Point
from rewardmachines.drawing.layout.machine_layout import Layout, PlacedEdge, PlacedLabel, PlacedState, lay_out, moved
from rewardmachines.drawing.layout.measures import LABEL_FONT, LINE_HEIGHT, RING, STATE_FONT, LabelFigure, Role
from rewardmachines.drawing.layout.widths import text_width
from rewardmachines.drawing.scene import palette
from rewardmachines.drawing.scene.panels import GAP, Area, arrange
from rewardmachines.drawing.scene.shapes import Arrow, Circle, Group, Ink, Polygon, RoundedBox, Scene, Shape, Span, Text
from rewardmachines.drawing.symbols import printable, shorten

_TITLE_FONT: Final = 13.0
_TITLE_LENGTH: Final = 48
_TITLE_HEIGHT: Final = 24.0
_PADDING: Final = 18.0


@dataclass(frozen=True, slots=True)
class _Panel:
    machine: RewardMachine
    layout: Layout
    color: str

    @property
    def title(self) -> str:
        return shorten(printable(self.machine.name), _TITLE_LENGTH)

    @property
    def title_width(self) -> float:
        return text_width(self.title, _TITLE_FONT, bold=True) + 20

    @property
    def size(self) -> tuple[float, float]:
        width = max(self.layout.width, self.title_width) + 2 * _PADDING
        return width, self.layout.height + _TITLE_HEIGHT + 2.6 * _PADDING


def compose(hierarchy: Hierarchy) -> Scene:
    """The scene of the root and all machines that it calls."""
    machines = hierarchy.reachable()
    colors = {machine.name: palette.accent(index) for index, machine in enumerate(machines)}
    panels = [_Panel(machine, lay_out(machine), colors[machine.name]) for machine in machines]
    page = arrange([panel.size for panel in panels])
    groups: list[Group] = []
    for panel, area in zip(panels, page.areas, strict=True):
        groups += _draw_panel(panel, Area(area.x + GAP, area.y + GAP, area.width, area.height), colors)
    width, height = page.width + 2 * GAP, page.height + 2 * GAP
    return Scene(printable(hierarchy.root), width, height, palette.BACKGROUND, tuple(groups))


def _draw_panel(panel: _Panel, area: Area, colors: Mapping[str, str]) -> list[Group]:
    frame = Box(Point(area.x + area.width / 2, area.y + area.height / 2), area.width, area.height)
    tab = Point(area.x + _PADDING * 0.7, area.y + _PADDING * 0.7)
    title = Group((RoundedBox(frame, 10, palette.PANEL), *_title(panel, tab)), printable(panel.machine.name))
    # Contents are in the middle of what the title leaves free.
    top = area.y + _TITLE_HEIGHT + 1.3 * _PADDING
    free = area.y + area.height - _PADDING - top
    layout = moved(panel.layout, frame.middle.x - panel.layout.width / 2, top + (free - panel.layout.height) / 2)
    arrow = Group((Arrow(layout.initial_arrow, palette.EDGE),), "initial state")
    edges = [Group((Arrow(edge.curve, _edge_color(edge, colors)),)) for edge in layout.edges]
    labels = [_label(label, colors) for label in layout.labels]
    return [title, arrow, *edges, *labels, *(_state(state) for state in layout.states)]


def _title(panel: _Panel, corner: Point) -> tuple[Shape, ...]:
    box = Box(corner.moved(panel.title_width / 2, _TITLE_HEIGHT / 2), panel.title_width, _TITLE_HEIGHT)
    name = Text(
        Point(box.left + 10, _baseline(box.middle.y, _TITLE_FONT)),
        _TITLE_FONT,
        (Span(panel.title, panel.color, bold=True),),
    )
    return RoundedBox(box, 6, Ink(palette.tint(panel.color))), name


def _edge_color(edge: PlacedEdge, colors: Mapping[str, str]) -> str:
    """The colour of the callee; neutral where the leaf is called, or several machines are."""
    callees = {label.figure.edge.callee for label in edge.labels}
    return colors.get(callees.pop(), palette.EDGE) if len(callees) == 1 else palette.EDGE


def _label(label: PlacedLabel, colors: Mapping[str, str]) -> Group:
    figure, box = label.figure, label.box
    if figure.edge.calls_leaf:
        back = RoundedBox(box, 4, Ink(palette.PANEL.fill))
    else:
        color = colors[figure.edge.callee]
        back = RoundedBox(box, min(box.height / 2, 11), Ink(palette.tint(color), palette.tint(color, 0.45), 1.0))
    spans = [_spans(figure, index, colors) for index in range(len(figure.lines))]
    return Group((back, *_lines(spans, box.middle, LABEL_FONT)), printable(figure.full))


def _spans(figure: LabelFigure, index: int, colors: Mapping[str, str]) -> tuple[Span, ...]:
    line = figure.lines[index]
    if index or not figure.callee_length:
        return (Span(line, palette.TEXT),)
    callee, rest = line[: figure.callee_length], line[figure.callee_length :]
    name = Span(callee, colors[figure.edge.callee], bold=True)
    return (name, Span(rest, palette.TEXT)) if rest else (name,)


def _state(state: PlacedState) -> Group:
    names = _lines([(Span(line, palette.TEXT),) for line in state.figure.lines], state.box.middle, STATE_FONT)
    return Group((*_outline(state), *names), printable(state.figure.name))


def _outline(state: PlacedState) -> tuple[Shape, ...]:
    figure, box, ink = state.figure, state.box, palette.STATES[state.figure.role]
    if figure.role is Role.REJECTING:
        return (Polygon(_octagon(box), ink),)
    shapes: list[Shape] = []
    for inset in (0.0, RING) if figure.role is Role.ACCEPTING else (0.0,):
        if figure.is_round:
            shapes.append(Circle(box.middle, box.width / 2 - inset, ink))
        else:
            inner = Box(box.middle, box.width - 2 * inset, box.height - 2 * inset)
            shapes.append(RoundedBox(inner, 14 - inset, ink))
    return tuple(shapes)


def _octagon(box: Box) -> tuple[Point, ...]:
    """A stop sign, as wide as the name demands."""
    corner = min(box.width, box.height) * 0.2929
    return (
        Point(box.left + corner, box.top),
        Point(box.right - corner, box.top),
        Point(box.right, box.top + corner),
        Point(box.right, box.bottom - corner),
        Point(box.right - corner, box.bottom),
        Point(box.left + corner, box.bottom),
        Point(box.left, box.bottom - corner),
        Point(box.left, box.top + corner),
    )


def _lines(lines: list[tuple[Span, ...]], middle: Point, size: float) -> list[Text]:
    """Lines of text, centred, one below the other."""
    first = middle.y - (len(lines) - 1) * size * LINE_HEIGHT / 2
    return [
        Text(
            Point(middle.x - span_width(spans, size) / 2, _baseline(first + i * size * LINE_HEIGHT, size)), size, spans
        )
        for i, spans in enumerate(lines)
    ]


def span_width(spans: tuple[Span, ...], size: float) -> float:
    """How wide a line of spans is in a font of this size."""
    return sum(text_width(span.text, size, bold=span.bold) for span in spans)


def _baseline(middle: float, size: float) -> float:
    """The baseline on which letters of common height look centred."""
    return middle + size * 0.35
