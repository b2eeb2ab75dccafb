"""Self-loops: above their state where the drawing leads to the right, on its left where it leads down."""

from __future__ import annotations

from dataclasses import replace

from rewardmachines.drawing.layout.geometry import Box, Point
from rewardmachines.drawing.layout.layers import Footprint
from rewardmachines.drawing.layout.measures import LOOP_HEIGHT, LOOP_LABEL_GAP, StateFigure
from rewardmachines.drawing.layout.placed import PlacedEdge, PlacedLabel, PlacedState
from rewardmachines.drawing.layout.routing import loop


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
