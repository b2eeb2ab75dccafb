"""The picture of one machine, before colours: boxes for its states and labels, curves for its edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.coordinates import column_edges, heights
from rewardmachines.drawing.layout.crossings import order
from rewardmachines.drawing.layout.geometry import Box, Curve, Point, straight
from rewardmachines.drawing.layout.layers import Kind, Layers, build_layers
from rewardmachines.drawing.layout.measures import (
    LOOP_HEIGHT,
    LOOP_LABEL_GAP,
    LabelFigure,
    StateFigure,
    measure_label,
    measure_state,
)
from rewardmachines.drawing.layout.routing import Grid, loop, route

_INITIAL_ARROW: Final = 28.0


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
    """Everything lies within `width` and `height`, the corner being the origin."""

    states: tuple[PlacedState, ...]
    edges: tuple[PlacedEdge, ...]
    initial_arrow: Curve
    width: float
    height: float

    @property
    def labels(self) -> tuple[PlacedLabel, ...]:
        """The labels of all edges."""
        return tuple(label for edge in self.edges for label in edge.labels)


def lay_out(machine: RewardMachine) -> Layout:
    """Left to right from the initial state."""
    names = [machine.initial, *(state for state in machine.states if state != machine.initial)]
    number = {name: index for index, name in enumerate(names)}
    figures = [measure_state(machine, name) for name in names]
    edges = [edge for edge in machine.edges if edge.source != edge.target]
    labels = [measure_label(edge) for edge in edges]
    layers = build_layers(figures, [(number[e.source], number[e.target]) for e in edges], labels)
    grid = _grid(layers, figures)
    states = tuple(
        PlacedState(figure, Box(middle, figure.width, figure.height))
        for figure, middle in zip(figures, grid.middles, strict=True)
    )
    placed = (*_edges(layers, grid, labels), *(_self_loops(state) for state in states if state.figure.loops))
    tip = Point(states[0].box.left, states[0].box.middle.y)
    tail = tip.moved(-_INITIAL_ARROW, 0)
    return _cropped(Layout(states, placed, Curve(tail, (straight(tail, tip),)), 0, 0))


def _grid(layers: Layers, figures: list[StateFigure]) -> Grid:
    columns = order(layers)
    y = heights(layers, columns)
    borders = column_edges(layers, columns, y)
    column_of = [cell.column for cell in layers.cells]
    middles = [Point(sum(borders[column_of[state]]) / 2, y[state]) for state in range(len(figures))]
    return Grid(figures, middles, column_of, y, borders)


def _edges(layers: Layers, grid: Grid, labels: list[LabelFigure]) -> list[PlacedEdge]:
    edges: list[PlacedEdge] = []
    for chain, curve in zip(layers.chains, route(grid, layers.chains), strict=True):
        cell = next(p for p in chain.cells if layers.cells[p].kind is Kind.LABEL)
        label = labels[layers.cells[cell].number]
        middle = Point(sum(grid.borders[grid.cell_columns[cell]]) / 2, grid.y[cell])
        edges.append(PlacedEdge(curve, (PlacedLabel(label, Box(middle, label.width, label.height)),)))
    return edges


def _self_loops(state: PlacedState) -> PlacedEdge:
    bottom = state.box.top - LOOP_HEIGHT
    labels: list[PlacedLabel] = []
    for label in state.figure.loops:
        middle = Point(state.box.middle.x, bottom - label.height / 2)
        labels.append(PlacedLabel(label, Box(middle, label.width, label.height)))
        bottom -= label.height + LOOP_LABEL_GAP
    return PlacedEdge(loop(state.figure, state.box.middle), tuple(labels))


def _cropped(layout: Layout) -> Layout:
    """Moved to the origin, and as large as what is in it."""
    boxes = [*(state.box for state in layout.states), *(label.box for label in layout.labels)]
    points = [point for edge in layout.edges for point in edge.curve.samples()]
    points += layout.initial_arrow.samples(1)
    left = min([*(b.left for b in boxes), *(p.x for p in points)])
    right = max([*(b.right for b in boxes), *(p.x for p in points)])
    top = min([*(b.top for b in boxes), *(p.y for p in points)])
    bottom = max([*(b.bottom for b in boxes), *(p.y for p in points)])
    return moved(Layout(layout.states, layout.edges, layout.initial_arrow, right - left, bottom - top), -left, -top)


def moved(layout: Layout, dx: float, dy: float) -> Layout:
    """The same layout, elsewhere on the page."""
    states = tuple(PlacedState(s.figure, s.box.moved(dx, dy)) for s in layout.states)
    edges = tuple(
        PlacedEdge(e.curve.moved(dx, dy), tuple(PlacedLabel(p.figure, p.box.moved(dx, dy)) for p in e.labels))
        for e in layout.edges
    )
    return Layout(states, edges, layout.initial_arrow.moved(dx, dy), layout.width, layout.height)
