"""The layout of one machine as coloured shapes, with the states and calls of a running hierarchy lit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rewardmachines.core.machine import Edge
from rewardmachines.core.traversal import HierarchyState
from rewardmachines.drawing.layout.geometry import Box, Point, outside
from rewardmachines.drawing.layout.machine_layout import MachineLayout, PlacedEdge, PlacedLabel, PlacedState
from rewardmachines.drawing.layout.measures import (
    LABEL_FONT,
    LINE_HEIGHT,
    RING,
    STATE_FONT,
    LabelLine,
    Role,
    text_width,
)
from rewardmachines.drawing.scene.palette import Palette
from rewardmachines.drawing.scene.shapes import Arrow, Circle, Group, Ink, Polygon, RoundedBox, Shape, Span, Text
from rewardmachines.drawing.symbols import printable


@dataclass(frozen=True, slots=True)
class Lights:
    """States are pairs of a machine and a state of it; `calls` are the edges that callers wait on, by machine."""

    present: tuple[str, str] | None = None
    waiting: frozenset[tuple[str, str]] = frozenset()
    calls: frozenset[tuple[str, str, str, str]] = frozenset()

    def is_called(self, machine: str, edge: Edge) -> bool:
        """Whether the machine waits for the callee of this edge."""
        return (machine, edge.source, edge.target, edge.callee) in self.calls


NO_LIGHTS: Final = Lights()


def lights_at(state: HierarchyState | None) -> Lights:
    """The present state, the states in which its callers wait, and their calls."""
    if state is None:
        return NO_LIGHTS
    return Lights(
        present=(state.machine, state.state),
        waiting=frozenset((call.caller, call.source) for call in state.stack),
        calls=frozenset((call.caller, call.source, call.target, call.callee) for call in state.stack),
    )


_EDGE: Final = 1.3
_LIT_EDGE: Final = 2.6


@dataclass(frozen=True, slots=True)
class Look:
    """The palette, the colour of each machine by its name, and what is lit."""

    palette: Palette
    colors: Mapping[str, str]
    lights: Lights

    def draw(self, machine: str, layout: MachineLayout) -> list[Group]:
        """The initial arrow, edges, labels and states; later groups lie on top."""
        arrow = Group((Arrow(layout.initial_arrow, self.palette.edge),), "initial state")
        edges = [Group(self._arrows(machine, edge)) for edge in layout.edges]
        labels = [
            self._label(machine, label, alone=len(edge.labels) == 1) for edge in layout.edges for label in edge.labels
        ]
        return [arrow, *edges, *labels, *(self._state(machine, state) for state in layout.states)]

    def _arrows(self, machine: str, edge: PlacedEdge) -> tuple[Arrow, ...]:
        """The edge, with a gap for its label, so that any background may be behind."""
        color, width = self._stroke(machine, edge)
        label = edge.labels[0]
        pieces = outside(edge.curve, label.box) if label.figure.edge.calls_leaf else (edge.curve,)
        return tuple(Arrow(piece, color, width, has_head=piece is pieces[-1]) for piece in pieces)

    def _stroke(self, machine: str, edge: PlacedEdge) -> tuple[str, float]:
        """In the colour of the callee; neutral where the leaf is called, or several machines are."""
        if any(self.lights.is_called(machine, label.figure.edge) for label in edge.labels):
            return self._lit, _LIT_EDGE
        callees = {label.figure.edge.callee for label in edge.labels}
        return self.colors.get(callees.pop(), self.palette.edge) if len(callees) == 1 else self.palette.edge, _EDGE

    @property
    def _lit(self) -> str:
        return self.palette.waiting.stroke or self.palette.edge

    def _label(self, machine: str, label: PlacedLabel, *, alone: bool) -> Group:
        figure, box, palette = label.figure, label.box, self.palette
        back: tuple[Shape, ...] = ()
        if not figure.edge.calls_leaf:
            color = self.colors[figure.edge.callee]
            ink = Ink(palette.tint(color), palette.tint(color, 0.45), 1.0)
            lit = self.lights.is_called(machine, figure.edge)
            back = (RoundedBox(box, min(box.height / 2, 11), palette.waiting if lit else ink),)
        elif not alone:
            # The curve of several self-loops passes behind all labels but one.
            back = (RoundedBox(box, 4, Ink(palette.panel.fill)),)
        spans = [self._spans(line, figure.edge) for line in figure.lines]
        return Group((*back, *centred(spans, box.middle, LABEL_FONT)), printable(figure.full))

    def _spans(self, line: LabelLine, edge: Edge) -> tuple[Span, ...]:
        name = (Span(line.callee, self.colors[edge.callee], bold=True),) if line.callee else ()
        rest = (Span(line.rest, self.palette.text),) if line.rest else ()
        return (*name, *rest)

    def _state(self, machine: str, state: PlacedState) -> Group:
        name = (machine, state.figure.name)
        present, waiting = name == self.lights.present, name in self.lights.waiting
        ink = self.palette.states[state.figure.role]
        ink = self.palette.present if present else self.palette.waiting if waiting else ink
        spans = [(Span(line, self.palette.text, bold=present),) for line in state.figure.lines]
        return Group(
            (*_outline(state, ink), *centred(spans, state.box.middle, STATE_FONT)), printable(state.figure.name)
        )


def _outline(state: PlacedState, ink: Ink) -> tuple[Shape, ...]:
    figure, box = state.figure, state.box
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


def centred(lines: Sequence[tuple[Span, ...]], middle: Point, size: float) -> list[Text]:
    """Lines of text, centred, one below the other."""
    first = middle.y - (len(lines) - 1) * size * LINE_HEIGHT / 2
    return [
        Text(Point(middle.x - span_width(spans, size) / 2, baseline(first + i * size * LINE_HEIGHT, size)), size, spans)
        for i, spans in enumerate(lines)
    ]


def span_width(spans: tuple[Span, ...], size: float) -> float:
    """The width of a line of spans in a font of this size."""
    return sum(text_width(span.text, size, bold=span.bold) for span in spans)


def baseline(middle: float, size: float) -> float:
    """The baseline on which letters of common height look centred."""
    return middle + size * 0.35
