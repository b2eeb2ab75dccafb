"""The layout of a machine: where its states, labels and edges are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rewardmachines.drawing.layout.geometry import Box, Curve
from rewardmachines.drawing.layout.measures import LabelFigure, StateFigure


@dataclass(frozen=True, slots=True)
class PlacedState:
    """A state, and where it stands."""

    figure: StateFigure
    box: Box


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A label, and where it stands."""

    figure: LabelFigure
    box: Box


@dataclass(frozen=True, slots=True)
class PlacedEdge:
    """A curve and the labels on it: one, except for self-loops, which a state has drawn as one curve."""

    curve: Curve
    labels: tuple[PlacedLabel, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a machine. Everything lies within `width` and `height`, the corner being the origin.

    `legend` has the formulas that are too long for labels: what stands for each, and its text. `turns` says how many
    edges turn from one row to the next, and `crowding` how many of them do so beside others.
    """

    states: tuple[PlacedState, ...]
    edges: tuple[PlacedEdge, ...]
    initial_arrow: Curve
    legend: tuple[tuple[str, str], ...] = ()
    turns: int = 0
    crowding: int = 0
    width: float = 0.0
    height: float = 0.0

    @property
    def labels(self) -> tuple[PlacedLabel, ...]:
        """The labels of all edges."""
        return tuple(label for edge in self.edges for label in edge.labels)


def cropped(layout: Layout) -> Layout:
    """The layout moved to the origin, and as large as what is in it."""
    boxes = [*(state.box for state in layout.states), *(label.box for label in layout.labels)]
    points = [point for edge in layout.edges for point in edge.curve.samples(4)]
    points += layout.initial_arrow.samples(1)
    left = min([*(b.left for b in boxes), *(p.x for p in points)])
    right = max([*(b.right for b in boxes), *(p.x for p in points)])
    top = min([*(b.top for b in boxes), *(p.y for p in points)])
    bottom = max([*(b.bottom for b in boxes), *(p.y for p in points)])
    return moved(replace(layout, width=right - left, height=bottom - top), -left, -top)


def moved(layout: Layout, dx: float, dy: float) -> Layout:
    """The same layout, moved on the page."""
    states = tuple(PlacedState(s.figure, s.box.moved(dx, dy)) for s in layout.states)
    edges = tuple(
        PlacedEdge(e.curve.moved(dx, dy), tuple(PlacedLabel(p.figure, p.box.moved(dx, dy)) for p in e.labels))
        for e in layout.edges
    )
    return replace(layout, states=states, edges=edges, initial_arrow=layout.initial_arrow.moved(dx, dy))
