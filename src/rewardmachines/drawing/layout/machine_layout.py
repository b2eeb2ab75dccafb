"""Layouts of machines: states, labels and edges in a line, in rows like lines of text, or from top to bottom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.coordinates import column_edges, heights, order
from rewardmachines.drawing.layout.geometry import BezierPath, Box, Point, straight
from rewardmachines.drawing.layout.layers import Arc, CellKind, Footprint, Ranking, build_layers, rank
from rewardmachines.drawing.layout.measures import (
    LOOP_HEIGHT,
    LOOP_LABEL_GAP,
    LabelFigure,
    StateFigure,
    choose_wording,
    measure_label,
    measure_state,
)
from rewardmachines.drawing.layout.routing import Grid, choose_breaks, loop, route, stack_rows, turns
from rewardmachines.drawing.options import Direction
from rewardmachines.drawing.symbols import LINE_LENGTH, LONG_LINE, pretty, printable


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

    curve: BezierPath
    labels: tuple[PlacedLabel, ...]


@dataclass(frozen=True, slots=True)
class MachineLayout:
    """The layout of a machine. Everything lies within `width` and `height`, the corner being the origin.

    `legend` has the formulas that are too long for labels: what stands for each, and its text. `turns` says how many
    edges turn from one row to the next, and `crowding` how many of them do so beside others.
    """

    states: tuple[PlacedState, ...]
    edges: tuple[PlacedEdge, ...]
    initial_arrow: BezierPath
    legend: tuple[tuple[str, str], ...] = ()
    turns: int = 0
    crowding: int = 0
    width: float = 0.0
    height: float = 0.0

    @property
    def labels(self) -> tuple[PlacedLabel, ...]:
        """The labels of all edges."""
        return tuple(label for edge in self.edges for label in edge.labels)


def cropped(layout: MachineLayout) -> MachineLayout:
    """The layout moved to the origin, and as large as what is in it."""
    boxes = [*(state.box for state in layout.states), *(label.box for label in layout.labels)]
    points = [point for edge in layout.edges for point in edge.curve.samples(4)]
    points += layout.initial_arrow.samples(1)
    left = min([*(b.left for b in boxes), *(p.x for p in points)])
    right = max([*(b.right for b in boxes), *(p.x for p in points)])
    top = min([*(b.top for b in boxes), *(p.y for p in points)])
    bottom = max([*(b.bottom for b in boxes), *(p.y for p in points)])
    return moved(replace(layout, width=right - left, height=bottom - top), -left, -top)


def moved(layout: MachineLayout, dx: float, dy: float) -> MachineLayout:
    """The same layout, moved on the page."""
    states = tuple(PlacedState(s.figure, s.box.moved(dx, dy)) for s in layout.states)
    edges = tuple(
        PlacedEdge(e.curve.moved(dx, dy), tuple(PlacedLabel(p.figure, p.box.moved(dx, dy)) for p in e.labels))
        for e in layout.edges
    )
    return replace(layout, states=states, edges=edges, initial_arrow=layout.initial_arrow.moved(dx, dy))


def turned_figure(figure: StateFigure) -> StateFigure:
    """The state as it is to a layout that is turned later."""
    return replace(figure, width=figure.height, height=figure.width)


def room(figure: StateFigure, *, down: bool) -> Footprint:
    """The space of a state with its self-loops."""
    if down:
        beside = LOOP_HEIGHT + figure.loops_width if figure.loops else 0.0
        return Footprint(max(figure.height, figure.loops_height), figure.width / 2 + beside, figure.width / 2)
    above = LOOP_HEIGHT + figure.loops_height if figure.loops else 0.0
    return Footprint(max(figure.width, figure.loops_width), figure.height / 2 + above, figure.height / 2)


def place_loops(state: PlacedState, *, down: bool) -> PlacedEdge:
    """The self-loops of a state as one curve, with all their labels."""
    return _loops_beside(state) if down else _loops_above(state)


def _loops_above(state: PlacedState) -> PlacedEdge:
    """The curve rises to the highest of the labels, behind the others."""
    bottom = state.box.top - LOOP_HEIGHT
    labels: list[PlacedLabel] = []
    for label in state.figure.loops:
        middle = Point(state.box.middle.x, bottom - label.height / 2)
        labels.append(PlacedLabel(label, Box(middle, label.width, label.height)))
        bottom -= label.height + LOOP_LABEL_GAP
    rise = LOOP_HEIGHT + state.figure.loops_height - state.figure.loops[-1].height
    return PlacedEdge(loop(state.figure, state.box.middle, rise), tuple(labels))


def _loops_beside(state: PlacedState) -> PlacedEdge:
    right, top = state.box.left - LOOP_HEIGHT, state.box.middle.y - state.figure.loops_height / 2
    labels: list[PlacedLabel] = []
    for label in state.figure.loops:
        middle = Point(right - label.width / 2, top + label.height / 2)
        labels.append(PlacedLabel(label, Box(middle, label.width, label.height)))
        top += label.height + LOOP_LABEL_GAP
    curve = loop(turned_figure(state.figure), state.box.middle.turned(), LOOP_HEIGHT).turned()
    return PlacedEdge(curve, tuple(labels))


_INITIAL_ARROW: Final = 28.0
_WIDE_PAGE: Final = 800.0
_ATTEMPTS: Final = 3
_TURN_COST: Final = 0.06
_CROWDING_COST: Final = 0.1
_EXCESS_COST: Final = 3.0


@dataclass(frozen=True, slots=True)
class _Parts:
    """The input of a layout: state 0 is the initial one, labels belong to arcs, and none of them is a self-loop."""

    states: tuple[StateFigure, ...]
    labels: tuple[LabelFigure, ...]
    arcs: tuple[Arc, ...]
    ranking: Ranking
    legend: tuple[tuple[str, str], ...]


@lru_cache(maxsize=256)
def lay_out(machine: RewardMachine, direction: Direction = "right", width: float = float("inf")) -> MachineLayout:
    """Lays out a machine from its initial state on.

    Args:
        machine: The machine.
        direction: The direction of edges, if they do not close a circle. What leads to the right and is wider than the
            page is broken into rows; "auto" lets it lead down if that suits a page better.
        width: The width of the page.
    """
    parts = _parts(machine, LONG_LINE if width >= _WIDE_PAGE else LINE_LENGTH)
    if direction == "down":
        return _Sheet(parts, down=True).layout()
    sheet = _Sheet(parts, down=False)
    line = sheet.layout()
    if line.width > width:
        line = sheet.layout(tight=True)
    if line.width <= width:
        return line
    rows = _rows(parts, sheet.borders(), width)
    if direction == "right":
        return rows
    return min(rows, _Sheet(parts, down=True).layout(), key=lambda layout: _cost(layout, width))


def _rows(parts: _Parts, borders: list[tuple[float, float]], width: float) -> MachineLayout:
    """Rows that keep to the width, if columns are not too wide for that."""
    limit = width
    for _ in range(_ATTEMPTS):
        breaks = choose_breaks(borders, parts.arcs, parts.ranking, limit)
        rows = _Sheet(parts, down=False, breaks=breaks).layout()
        if rows.width <= width:
            break
        limit -= rows.width - width + width / 20
    return rows


def _cost(layout: MachineLayout, width: float) -> float:
    """The side of the square that holds it, and more for what is wider than the page and for edges that turn."""
    turns = _TURN_COST * layout.turns + _CROWDING_COST * layout.crowding
    excess = _EXCESS_COST * max(layout.width / width - 1, 0.0)
    return max(layout.width, layout.height) * (1 + turns + excess)


def _parts(machine: RewardMachine, longest: int) -> _Parts:
    names = [machine.initial, *(state for state in machine.states if state != machine.initial)]
    number = {name: index for index, name in enumerate(names)}
    edges = [edge for edge in machine.edges if edge.source != edge.target]
    arcs = tuple((number[edge.source], number[edge.target]) for edge in edges)
    wording = choose_wording(machine, longest)
    return _Parts(
        states=tuple(measure_state(machine, name, wording) for name in names),
        labels=tuple(measure_label(edge, wording) for edge in edges),
        arcs=arcs,
        ranking=rank(len(names), arcs),
        legend=tuple((sign, printable(pretty(formula))) for formula, sign in wording.signs.items()),
    )


class _Sheet:
    """Everything in order and at its height, to the right as far as this is concerned; what leads down is turned.

    Args:
        parts: The states, arcs and labels.
        down: Whether it leads down.
        breaks: The ranks after which a row ends.
    """

    def __init__(self, parts: _Parts, *, down: bool, breaks: Sequence[int] = ()) -> None:
        self._parts = parts
        self._down = down
        rooms = [room(figure, down=down) for figure in parts.states]
        labels = [_label_room(label, down=down) for label in parts.labels]
        self._layers = build_layers(rooms, parts.arcs, labels, parts.ranking, breaks)
        self._columns = order(self._layers)
        self._y = stack_rows(self._layers, heights(self._layers, self._columns))

    def borders(self, *, tight: bool = False) -> list[tuple[float, float]]:
        """The left and right `x` of each column."""
        return column_edges(self._layers, self._columns, self._y, tight=tight)

    def layout(self, *, tight: bool = False) -> MachineLayout:
        """The layout, with columns close together if it is tight."""
        parts, down = self._parts, self._down
        grid = self._grid(self.borders(tight=tight))
        states = tuple(
            PlacedState(figure, Box(self._facing(middle), figure.width, figure.height))
            for figure, middle in zip(parts.states, grid.middles, strict=True)
        )
        loops = (place_loops(state, down=down) for state in states if state.figure.loops)
        edges = (*self._edges(grid), *loops)
        arrow = _initial_arrow(states[0].box, down=down)
        crowding = len(grid.turns) - len(self._layers.starts) + 1
        return cropped(MachineLayout(states, edges, arrow, parts.legend, len(grid.turns), crowding))

    def _grid(self, borders: list[tuple[float, float]]) -> Grid:
        figures = [turned_figure(figure) for figure in self._parts.states] if self._down else self._parts.states
        column_of = [cell.column for cell in self._layers.cells]
        middles = [Point(sum(borders[column_of[state]]) / 2, self._y[state]) for state in range(len(figures))]
        beside = frozenset(state for state, figure in enumerate(figures) if figure.loops) if self._down else frozenset()
        return Grid(figures, middles, column_of, self._y, borders, turns(self._layers, self._y, borders), beside)

    def _edges(self, grid: Grid) -> list[PlacedEdge]:
        cells, chains = self._layers.cells, self._layers.chains
        edges: list[PlacedEdge] = []
        for chain, curve in zip(chains, route(grid, chains), strict=True):
            cell = next(p for p in chain.cells if cells[p].kind is CellKind.LABEL)
            label = self._parts.labels[cells[cell].number]
            middle = Point(sum(grid.borders[grid.cell_columns[cell]]) / 2, grid.y[cell])
            box = Box(self._facing(middle), label.width, label.height)
            edges.append(PlacedEdge(curve.turned() if self._down else curve, (PlacedLabel(label, box),)))
        return edges

    def _facing(self, point: Point) -> Point:
        return point.turned() if self._down else point


def _label_room(label: LabelFigure, *, down: bool) -> Footprint:
    along, across = (label.height, label.width) if down else (label.width, label.height)
    return Footprint(along, across / 2, across / 2)


def _initial_arrow(box: Box, *, down: bool) -> BezierPath:
    tip = Point(box.middle.x, box.top) if down else Point(box.left, box.middle.y)
    tail = tip.moved(0, -_INITIAL_ARROW) if down else tip.moved(-_INITIAL_ARROW, 0)
    return BezierPath(tail, (straight(tail, tip),))
