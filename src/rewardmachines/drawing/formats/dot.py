"""Hierarchies in Graphviz's language."""

from __future__ import annotations

from collections.abc import Iterable

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.measures import Role
from rewardmachines.drawing.scene.palette import LIGHT
from rewardmachines.drawing.symbols import edge_label, printable, wrap

_LINE_LENGTH = 40
_FONT = 'fontname="DejaVu Sans"'


def to_dot(hierarchy: Hierarchy) -> str:
    """A drawing for Graphviz: a cluster for each machine, the root first.

    Long labels are broken into lines, never cut. Accepting states are double circles, rejecting ones octagons; edges
    that call a machine have its colour.

    Args:
        hierarchy: What is drawn.
    """
    machines = hierarchy.reachable()
    colors = {machine.name: LIGHT.accent(index) for index, machine in enumerate(machines)}
    lines = [
        f"digraph {quoted(hierarchy.root)} {{",
        f'  graph [rankdir=LR, compound=true, bgcolor="{LIGHT.background}", {_FONT}, fontsize=13];',
        f'  node [{_FONT}, fontsize=12, fontcolor="{LIGHT.text}", style=filled];',
        f'  edge [{_FONT}, fontsize=11, fontcolor="{LIGHT.text}", color="{LIGHT.edge}", arrowsize=0.7];',
    ]
    for index, machine in enumerate(machines):
        lines += [f"  {line}" for line in _cluster(index, machine, colors)]
    return "\n".join([*lines, "}", ""])


def quoted(text: str) -> str:
    """A DOT string that shows exactly this text: DOT reads both backslashes and HTML's entities."""
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def _cluster(index: int, machine: RewardMachine, colors: dict[str, str]) -> Iterable[str]:
    ids = {state: f"m{index}_s{number}" for number, state in enumerate(machine.states)}
    color = colors[machine.name]
    yield f"subgraph cluster_{index} {{"
    yield f'  label={quoted(machine.name)}; labeljust=l; fontcolor="{color}";'
    yield f'  style="rounded,filled"; fillcolor="{LIGHT.panel.fill}"; color="{LIGHT.panel.stroke}";'
    yield f'  m{index}_start [shape=point, width=0.06, color="{LIGHT.edge}", label=""];'
    for state in machine.states:
        yield f"  {ids[state]} [label={quoted(state)}, {_shape(machine, state)}];"
    yield f"  m{index}_start -> {ids[machine.initial]};"
    for edge in machine.edges:
        label = "\\n".join(_escaped(line) for line in wrap(printable(edge_label(edge)), _LINE_LENGTH))
        call = "" if edge.calls_leaf else f', color="{colors[edge.callee]}", fontcolor="{colors[edge.callee]}"'
        yield f'  {ids[edge.source]} -> {ids[edge.target]} [label="{label}"{call}];'
    yield "}"


def _shape(machine: RewardMachine, state: str) -> str:
    if state in machine.accepting:
        role, shape = Role.ACCEPTING, "doublecircle"
    elif state in machine.rejecting:
        role, shape = Role.REJECTING, "octagon"
    else:
        role, shape = Role.INNER, "circle" if len(state) <= 4 else "ellipse"
    ink = LIGHT.states[role]
    return f'shape={shape}, fillcolor="{ink.fill}", color="{ink.stroke}"'
