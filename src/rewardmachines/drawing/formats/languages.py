"""Hierarchies in the languages of other programs: Graphviz's DOT, and Mermaid, which GitHub draws in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.measures import Role
from rewardmachines.drawing.options import STANDARD, DrawingOptions
from rewardmachines.drawing.scene.palette import (
    LIGHT,
    Palette,
    background_of,
    machine_colors,
    palette_of,
    shown_machines,
)
from rewardmachines.drawing.symbols import edge_label, printable, wrap

_LINE_LENGTH = 40
_FONT = 'fontname="DejaVu Sans"'


def to_dot(hierarchy: Hierarchy, options: DrawingOptions = STANDARD) -> str:
    """A drawing for Graphviz: a cluster for each machine, the root first.

    Long labels are broken into lines, never cut. Accepting states are double circles, rejecting ones octagons; edges
    that call a machine have its colour.

    Args:
        hierarchy: The hierarchy.
        options: The options of the drawing; Graphviz decides on rows.
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
        yield f"  {ids[state]} [label={quoted(state)}, {_dot_shape(machine, state, palette)}];"
    yield f"  m{index}_start -> {ids[machine.initial]};"
    for edge in machine.edges:
        label = "\\n".join(_escaped(line) for line in wrap(printable(edge_label(edge)), _LINE_LENGTH))
        call = "" if edge.calls_leaf else f', color="{colors[edge.callee]}", fontcolor="{colors[edge.callee]}"'
        yield f'  {ids[edge.source]} -> {ids[edge.target]} [label="{label}"{call}];'
    yield "}"


def _dot_shape(machine: RewardMachine, state: str, palette: Palette) -> str:
    if state in machine.accepting:
        role, shape = Role.ACCEPTING, "doublecircle"
    elif state in machine.rejecting:
        role, shape = Role.REJECTING, "octagon"
    else:
        role, shape = Role.INNER, "circle" if len(state) <= 4 else "ellipse"
    ink = palette.states[role]
    return f'shape={shape}, fillcolor="{ink.fill}", color="{ink.stroke}"'


_SPECIAL: Final = re.compile(r"[^\w |(),:/\u0080-\U0010ffff]|(?<![^\W_])_|_(?![^\W_])")
"""The characters to which Mermaid, or the Markdown inside its labels, gives a meaning."""

_CLASSES: Final = {Role.ACCEPTING: "accepting", Role.REJECTING: "rejecting"}


def to_mermaid(hierarchy: Hierarchy, options: DrawingOptions = STANDARD) -> str:
    """A drawing for Mermaid: a subgraph for each machine, the root first; edges that call a machine are thick.

    Args:
        hierarchy: The hierarchy.
        options: Where edges lead, and which machine is drawn; the rest is for the page in which Mermaid draws.
    """
    direction = "TB" if options.direction == "down" else "LR"
    lines = [f"flowchart {direction}"]
    for index, machine in enumerate(shown_machines(hierarchy, options)):
        lines += [f"  {line}" for line in _subgraph(index, machine, direction)]
    for role, name in _CLASSES.items():
        ink = LIGHT.states[role]
        lines.append(f"  classDef {name} fill:{ink.fill},stroke:{ink.stroke}")
    return "\n".join([*lines, ""])


def _subgraph(index: int, machine: RewardMachine, direction: str) -> Iterable[str]:
    ids = {state: f"m{index}_s{number}" for number, state in enumerate(machine.states)}
    yield f"subgraph m{index}[{_quoted(machine.name)}]"
    yield f"  direction {direction}"
    yield f'  m{index}_start[" "] --> {ids[machine.initial]}'
    yield f"  style m{index}_start fill:none,stroke:none"
    for state in machine.states:
        yield f"  {ids[state]}{_mermaid_shape(machine, state)}"
    for edge in machine.edges:
        arrow = "-->" if edge.calls_leaf else "==>"
        yield f"  {ids[edge.source]} {arrow}|{_quoted(edge_label(edge))}| {ids[edge.target]}"
    yield "end"


def _mermaid_shape(machine: RewardMachine, state: str) -> str:
    if state in machine.accepting:
        return f"((({_quoted(state)}))):::{_CLASSES[Role.ACCEPTING]}"
    if state in machine.rejecting:
        return f"{{{{{_quoted(state)}}}}}:::{_CLASSES[Role.REJECTING]}"
    return f"(({_quoted(state)}))" if len(state) <= 4 else f"([{_quoted(state)}])"


def _quoted(text: str) -> str:
    return '"' + _SPECIAL.sub(lambda match: f"#{ord(match[0])};", printable(text)) + '"'
