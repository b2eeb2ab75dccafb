"""The sizes of a machine's states and labels, before anything has a place, with text widths in DejaVu Sans."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from rewardmachines.core.formula import Formula
from rewardmachines.core.machine import Edge, RewardMachine
from rewardmachines.drawing.symbols import (
    LINE_LENGTH,
    LONG_LINE,
    cut,
    edge_label,
    formula_sign,
    label_lines,
    pretty,
    printable,
)

# fmt: off
_PLAIN: Final = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
)
_BOLD: Final = (
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696, 696, 696,
    696, 696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995,
    837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500, 500, 675, 716, 593, 716,
    678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712,
    365, 712, 838,
)
# fmt: on
"""Advances of the characters from space to tilde, in thousandths of the font size."""

_SYMBOLS: Final = {"¬": 838, "∧": 732, "∨": 732, "⊤": 871, "⊥": 871, "↵": 838, "�": 1025, "φ": 660} | dict.fromkeys(
    "₀₁₂₃₄₅₆₇₈₉", 401
)
_OTHER: Final = 720
_WIDE: Final = 1025


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of the text in a font of this size."""
    return sum(_advance(character, bold) for character in text) * size / 1000


@lru_cache(maxsize=4096)
def _advance(character: str, bold: bool) -> int:
    if " " <= character <= "~":
        return (_BOLD if bold else _PLAIN)[ord(character) - ord(" ")]
    if character in _SYMBOLS:
        return _SYMBOLS[character] + (80 if bold else 0)
    if unicodedata.combining(character):
        return 0
    return _WIDE if unicodedata.east_asian_width(character) in "WF" else _OTHER + (70 if bold else 0)


STATE_FONT: Final = 13.0
LABEL_FONT: Final = 12.0
LINE_HEIGHT: Final = 1.3
RADIUS: Final = 21.0
MAX_RADIUS: Final = 28.0
LOOP_HEIGHT: Final = 26.0
LOOP_LABEL_GAP: Final = 6.0
RING: Final = 3.6
"""The distance between the two outlines of an accepting state."""

MAX_LINES: Final = 4
"""Formulas that would take more are numbered, and written out below the machine."""

_CIRCLE_MARGIN: Final = 11.0
_STATE_LINE: Final = 14
_STATE_SHAPE: Final = 2.6


class Role(Enum):
    """The role of a state."""

    INNER = auto()
    ACCEPTING = auto()
    REJECTING = auto()


@dataclass(frozen=True, slots=True)
class StateFigure:
    """A circle, or a rounded box where the name is too long for one; `loops` are the labels of its self-loops."""

    name: str
    lines: tuple[str, ...]
    role: Role
    width: float
    height: float
    is_round: bool
    loops: tuple[LabelFigure, ...] = ()

    @property
    def loops_width(self) -> float:
        """The width of the widest label of a self-loop."""
        return max((label.width for label in self.loops), default=0.0)

    @property
    def loops_height(self) -> float:
        """The height of the labels of all self-loops, one above the other."""
        return sum(label.height + LOOP_LABEL_GAP for label in self.loops) - LOOP_LABEL_GAP if self.loops else 0.0


@dataclass(frozen=True, slots=True)
class LabelLine:
    """A line of a label: what it holds of the callee's name, and what follows."""

    callee: str
    rest: str

    @property
    def width(self) -> float:
        """The width of the line, the callee in bold letters."""
        return text_width(self.callee, LABEL_FONT, bold=True) + text_width(self.rest, LABEL_FONT)


@dataclass(frozen=True, slots=True)
class LabelFigure:
    """The lines of an edge's label."""

    edge: Edge
    lines: tuple[LabelLine, ...]

    @property
    def width(self) -> float:
        """With a margin, which is wider for a call."""
        return max(line.width for line in self.lines) + (8.0 if self.edge.calls_leaf else 18.0)

    @property
    def height(self) -> float:
        """With a margin."""
        return len(self.lines) * LABEL_FONT * LINE_HEIGHT + 6

    @property
    def full(self) -> str:
        """The whole text of the label, for the tooltip."""
        return edge_label(self.edge)


@dataclass(frozen=True, slots=True)
class Wording:
    """The wording of labels: the length of lines, and the signs of formulas that are written out below the machine."""

    longest: int
    signs: Mapping[Formula, str]


def choose_wording(machine: RewardMachine, longest: int = LONG_LINE) -> Wording:
    """Numbers the formulas that are too long for a label, in the order of the edges."""
    formulas = dict.fromkeys(edge.formula for edge in machine.edges)
    too_long = (formula for formula in formulas if len(label_lines(printable(pretty(formula)), longest)) > MAX_LINES)
    return Wording(longest, {formula: formula_sign(number) for number, formula in enumerate(too_long, start=1)})


def measure_state(machine: RewardMachine, name: str, wording: Wording) -> StateFigure:
    """The figure of a state, with its name in lines and the labels of its self-loops."""
    loops = tuple(measure_label(edge, wording) for edge in machine.outgoing(name) if edge.target == name)
    text = printable(name)
    # Long names fill boxes of about the same shape.
    lines = cut(text, max(_STATE_LINE, math.ceil(_STATE_SHAPE * math.sqrt(len(text)))))
    wide = max(text_width(line, STATE_FONT) for line in lines)
    role = _role(machine, name)
    ring = 2 * RING if role is Role.ACCEPTING else 0.0
    across = max(2 * RADIUS, wide + ring + _CIRCLE_MARGIN)
    is_round = len(lines) == 1 and across <= 2 * MAX_RADIUS
    return StateFigure(
        name=name,
        lines=lines,
        role=role,
        width=across if is_round else max(wide + 26, 2 * MAX_RADIUS),
        height=across if is_round else len(lines) * STATE_FONT * LINE_HEIGHT + 20,
        is_round=is_round,
        loops=loops,
    )


def measure_label(edge: Edge, wording: Wording) -> LabelFigure:
    """The figure of an edge's label, in lines; nothing is ever cut off."""
    text = wording.signs.get(edge.formula) or printable(pretty(edge.formula))
    if edge.calls_leaf:
        return LabelFigure(edge, tuple(LabelLine("", line) for line in label_lines(text, wording.longest)))
    *before, last = cut(printable(edge.callee), LINE_LENGTH)
    # The callee's name may hold spaces, at which it is not to be broken.
    first, *rest = label_lines("x" * len(last) + " | " + text, wording.longest)
    lines = [*(LabelLine(piece, "") for piece in before), LabelLine(last, first[len(last) :])]
    return LabelFigure(edge, (*lines, *(LabelLine("", line) for line in rest)))


def _role(machine: RewardMachine, state: str) -> Role:
    if state in machine.accepting:
        return Role.ACCEPTING
    return Role.REJECTING if state in machine.rejecting else Role.INNER
