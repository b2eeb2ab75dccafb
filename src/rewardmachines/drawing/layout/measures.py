"""What will be drawn of a machine, and how large it is, before anything has a place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from rewardmachines.core.machine import Edge, RewardMachine
from rewardmachines.drawing.layout.widths import text_width
from rewardmachines.drawing.symbols import LINE_LENGTH, cut, edge_label, pretty, printable, shorten, wrap

STATE_FONT: Final = 13.0
LABEL_FONT: Final = 12.0
LINE_HEIGHT: Final = 1.3
RADIUS: Final = 21.0
MAX_RADIUS: Final = 28.0
LOOP_HEIGHT: Final = 26.0
LOOP_LABEL_GAP: Final = 6.0
RING: Final = 3.6
"""The distance between the two outlines of an accepting state."""


_CIRCLE_MARGIN: Final = 11.0
_STATE_LINE: Final = 26
_STATE_LINES: Final = 3


class Role(Enum):
    """What it means to be in a state."""

    INNER = auto()
    ACCEPTING = auto()
    REJECTING = auto()


@dataclass(frozen=True, slots=True)
class StateFigure:
    """A circle, or a rounded box where the name is too long for one; `loops` are the labels above it, lowest first."""

    name: str
    lines: tuple[str, ...]
    role: Role
    width: float
    height: float
    is_round: bool
    loops: tuple[LabelFigure, ...] = ()

    @property
    def room_width(self) -> float:
        return max([self.width, *(label.width for label in self.loops)])

    @property
    def loop_height(self) -> float:
        """How high a self-loop rises: up to the highest of its labels, behind the others."""
        return LOOP_HEIGHT + sum(label.height + LOOP_LABEL_GAP for label in self.loops[:-1]) if self.loops else 0.0

    @property
    def room_above(self) -> float:
        """The distance from the middle of the state to the top of what belongs to it."""
        return self.height / 2 + self.loop_height + (self.loops[-1].height if self.loops else 0.0)


@dataclass(frozen=True, slots=True)
class LabelFigure:
    """The lines of an edge's label. Of a call, the first `callee_length` characters are the callee's name."""

    edge: Edge
    lines: tuple[str, ...]
    callee_length: int
    width: float
    height: float

    @property
    def full(self) -> str:
        """The whole text of the label, for the tooltip."""
        return edge_label(self.edge)


def measure_state(machine: RewardMachine, name: str) -> StateFigure:
    """How large a state is drawn, with its name in lines and the labels of its self-loops."""
    loops = tuple(measure_label(edge) for edge in machine.outgoing(name) if edge.target == name)
    lines = cut(printable(name), _STATE_LINE)
    if len(lines) > _STATE_LINES:
        lines = (*lines[: _STATE_LINES - 1], shorten("".join(lines[_STATE_LINES - 1 :]), _STATE_LINE))
    wide = max(text_width(line, STATE_FONT) for line in lines)
    role = _role(machine, name)
    ring = 2 * RING if role is Role.ACCEPTING else 0.0
    across = max(2 * RADIUS, wide + ring + _CIRCLE_MARGIN)
    if len(lines) == 1 and across <= 2 * MAX_RADIUS:
        return StateFigure(name=name, lines=lines, role=role, width=across, height=across, is_round=True, loops=loops)
    height = len(lines) * STATE_FONT * LINE_HEIGHT + 20
    return StateFigure(
        name=name,
        lines=lines,
        role=role,
        width=max(wide + 26, 2 * MAX_RADIUS),
        height=height,
        is_round=False,
        loops=loops,
    )


def measure_label(edge: Edge) -> LabelFigure:
    """How large the label of an edge is drawn, in lines."""
    if edge.calls_leaf:
        callee, lines = "", wrap(shorten(printable(pretty(edge.formula))))
    else:
        callee = shorten(printable(edge.callee), LINE_LENGTH)
        context = shorten(printable(pretty(edge.formula)))
        lines = _call_lines(callee, context)
    bold = text_width(callee, LABEL_FONT, bold=True) + text_width(lines[0][len(callee) :], LABEL_FONT)
    wide = max([bold, *(text_width(line, LABEL_FONT) for line in lines[1:])])
    padding = 8.0 if edge.calls_leaf else 18.0
    return LabelFigure(edge, lines, len(callee), wide + padding, len(lines) * LABEL_FONT * LINE_HEIGHT + 6)


def _call_lines(callee: str, context: str) -> tuple[str, ...]:
    """The callee's name may hold spaces and must stay whole."""
    first, *rest = wrap("x" * len(callee) + " | " + context)
    return (callee + first[len(callee) :], *rest)


def _role(machine: RewardMachine, state: str) -> Role:
    if state in machine.accepting:
        return Role.ACCEPTING
    return Role.REJECTING if state in machine.rejecting else Role.INNER
