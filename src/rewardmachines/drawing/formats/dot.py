"""Hierarchies in Graphviz's language."""

from __future__ import annotations

from collections.abc import Iterable

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.measures import Role
from rewardmachines.drawing.options import STANDARD, DrawingOptions
from rewardmachines.drawing.scene.content import background_of, machine_colors, palette_of, shown_machines
from rewardmachines.drawing.scene.palette import Palette
from rewardmachines.drawing.symbols import edge_label, printable, wrap

_LINE_LENGTH = 40
_FONT = 'fontname="DejaVu Sans"'


def to_dot(hierarchy: Hierarchy, options: DrawingOptions = STANDARD) -> str:
    """A drawing for Graphviz: a cluster for each machine, the root first.

    Long labels are broken into lines, never cut. Accepting states are double circles, rejecting ones octagons; edges
    that call a machine have its colour.

    Args:
        hierarchy: What is drawn.
        options: What is shown of it and how it looks; Graphviz decides on rows.
    """
    palette = palette_of(options)
    direction = "TB" if options.direction == "down" else "LR"
    background = background_of(options) or "transparent"
    lines = [
        f"digraph {quoted(options.machine or hierarchy.root)} {{",
        f'  graph [rankdir={direction}, compound=true, bgcolor="{background}", {_FONT}, fontsize=13];',
        f'  node [{_FONT}, fontsize=12, fontcolor="{palette.text}", style=filled];',
        f'  edge [{_FONT}, fontsize=11, fontcolor="{palette.text}", color="{palette.edge}", arrowsize=0.7];',
    ]
    colors = machine_colors(hierarchy, palette)
    for index, machine in enumerate(shown_machines(hierarchy, options)):
        lines += [f"  {line}" for line in _cluster(index, machine, colors, options)]
    return "\n".join([*lines, "}", ""])


def quoted(text: str) -> str:
    """A DOT string that shows exactly this text: DOT reads both backslashes and HTML's entities."""
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def _cluster(index: int, machine: RewardMachine, colors: dict[str, str], options: DrawingOptions) -> Iterable[str]:
    palette = palette_of(options)
    ids = {state: f"m{index}_s{number}" for number, state in enumerate(machine.states)}
    color = colors[machine.name]
    yield f"subgraph cluster_{index} {{"
    if options.titles:
        yield f'  label={quoted(machine.name)}; labeljust=l; fontcolor="{color}";'
    if options.frames:
        yield f'  style="rounded,filled"; fillcolor="{palette.panel.fill}"; color="{palette.panel.stroke}";'
    else:
        yield "  peripheries=0;"
    yield f'  m{index}_start [shape=point, width=0.06, color="{palette.edge}", label=""];'
    for state in machine.states:
        yield f"  {ids[state]} [label={quoted(state)}, {_shape(machine, state, palette)}];"
    yield f"  m{index}_start -> {ids[machine.initial]};"
    for edge in machine.edges:
        label = "\\n".join(_escaped(line) for line in wrap(printable(edge_label(edge)), _LINE_LENGTH))
        call = "" if edge.calls_leaf else f', color="{colors[edge.callee]}", fontcolor="{colors[edge.callee]}"'
        yield f'  {ids[edge.source]} -> {ids[edge.target]} [label="{label}"{call}];'
    yield "}"


def _shape(machine: RewardMachine, state: str, palette: Palette) -> str:
    if state in machine.accepting:
        role, shape = Role.ACCEPTING, "doublecircle"
    elif state in machine.rejecting:
        role, shape = Role.REJECTING, "octagon"
    else:
        role, shape = Role.INNER, "circle" if len(state) <= 4 else "ellipse"
    ink = palette.states[role]
    return f'shape={shape}, fillcolor="{ink.fill}", color="{ink.stroke}"'
