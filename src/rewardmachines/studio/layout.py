"""The layout of a machine as data, so that a page draws it, and lights up what it wants."""

from __future__ import annotations

from typing import Any, TypeAlias

from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.geometry import BezierPath, Box, outside
from rewardmachines.drawing.layout.machine_layout import PlacedEdge, PlacedLabel, PlacedState, lay_out
from rewardmachines.drawing.scene.shapes import Arrow
from rewardmachines.drawing.symbols import printable

Json: TypeAlias = dict[str, Any]


def machine_as_data(machine: RewardMachine, width: float) -> Json:
    """The states and edges of a machine, placed on a page of a width; `y` grows downwards, as in SVG."""
    layout = lay_out(machine, "auto", width)
    return {
        "name": machine.name,
        "title": printable(machine.name),
        "width": _rounded(layout.width),
        "height": _rounded(layout.height),
        "initial": _arrow(layout.initial_arrow, has_head=True),
        "states": [_state(state) for state in layout.states],
        "edges": [_edge(edge) for edge in layout.edges],
        "legend": [{"sign": sign, "formula": formula} for sign, formula in layout.legend],
    }


def _state(placed: PlacedState) -> Json:
    figure = placed.figure
    return {
        "name": figure.name,
        "lines": list(figure.lines),
        "role": figure.role.name.lower(),
        "round": figure.is_round,
        "box": _box(placed.box),
    }


def _edge(placed: PlacedEdge) -> Json:
    """The curve of an edge, with a gap for its label where that has no background of its own."""
    first = placed.labels[0]
    pieces = outside(placed.curve, first.box) if first.figure.edge.calls_leaf else (placed.curve,)
    return {
        "arrows": [_arrow(piece, has_head=piece is pieces[-1]) for piece in pieces],
        "labels": [_label(label, alone=len(placed.labels) == 1) for label in placed.labels],
    }


def _label(placed: PlacedLabel, *, alone: bool) -> Json:
    edge = placed.figure.edge
    return {
        "source": edge.source,
        "target": edge.target,
        "callee": None if edge.calls_leaf else edge.callee,
        "formula": str(edge.formula),
        "full": printable(placed.figure.full),
        "lines": [{"callee": line.callee, "rest": line.rest} for line in placed.figure.lines],
        "box": _box(placed.box),
        "alone": alone,
    }


def _arrow(curve: BezierPath, *, has_head: bool) -> Json:
    start = f"M{_rounded(curve.start.x)} {_rounded(curve.start.y)}"
    bends = "".join("C" + " ".join(f"{_rounded(p.x)} {_rounded(p.y)}" for p in bend) for bend in curve.bends)
    head = " ".join(f"{_rounded(p.x)},{_rounded(p.y)}" for p in Arrow(curve, "", has_head=has_head).head)
    return {"path": start + bends, "head": head}


def _box(box: Box) -> Json:
    return {"x": _rounded(box.left), "y": _rounded(box.top), "w": _rounded(box.width), "h": _rounded(box.height)}


def _rounded(number: float) -> float:
    return round(number, 1)
