"""Hierarchies as Mermaid flowcharts, which GitHub draws in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.measures import Role
from rewardmachines.drawing.options import STANDARD, DrawingOptions
from rewardmachines.drawing.scene.content import shown_machines
from rewardmachines.drawing.scene.palette import LIGHT
from rewardmachines.drawing.symbols import edge_label, printable

_SPECIAL: Final = re.compile(r"[^\w |(),:/\u0080-\U0010ffff]|(?<![^\W_])_|_(?![^\W_])")
"""The characters to which Mermaid, or the Markdown inside its labels, gives a meaning."""

_CLASSES: Final = {Role.ACCEPTING: "accepting", Role.REJECTING: "rejecting"}


def to_mermaid(hierarchy: Hierarchy, options: DrawingOptions = STANDARD) -> str:
    """A drawing for Mermaid: a subgraph for each machine, the root first; edges that call a machine are thick.

    Args:
        hierarchy: What is drawn.
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
        yield f"  {ids[state]}{_shape(machine, state)}"
    for edge in machine.edges:
        arrow = "-->" if edge.calls_leaf else "==>"
        yield f"  {ids[edge.source]} {arrow}|{_quoted(edge_label(edge))}| {ids[edge.target]}"
    yield "end"


def _shape(machine: RewardMachine, state: str) -> str:
    if state in machine.accepting:
        return f"((({_quoted(state)}))):::{_CLASSES[Role.ACCEPTING]}"
    if state in machine.rejecting:
        return f"{{{{{_quoted(state)}}}}}:::{_CLASSES[Role.REJECTING]}"
    return f"(({_quoted(state)}))" if len(state) <= 4 else f"([{_quoted(state)}])"


def _quoted(text: str) -> str:
    return '"' + _SPECIAL.sub(lambda match: f"#{ord(match[0])};", printable(text)) + '"'
