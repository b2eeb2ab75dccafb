"""Formulas and names as pictures show them: ¬, ∧, ∨ and ⊤ instead of what a keyboard offers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from rewardmachines.core.formula import Conjunction, Formula, quote
from rewardmachines.core.machine import Edge

LINE_LENGTH: Final = 28
LONG_LINE: Final = 36
"""Lines of labels that would take more than two short ones, where the page is wide enough."""

_DISJUNCT: Final = re.compile(" (?=∨ )")
_CONJUNCT: Final = re.compile(" (?=∧ )")
_SEPARATORS: Final = ("/", ">-_. ")
"""The separators after which long names are broken: the best of them that there is."""
_SUBSCRIPTS: Final = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_BREAKS: Final = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")


def pretty(formula: Formula) -> str:
    """The formula as the paper writes it, short disjuncts first."""
    if formula.is_false:
        return "⊥"
    if len(formula.disjuncts) == 1:
        return _conjunction(*formula.disjuncts)
    return " ∨ ".join(f"({_conjunction(d)})" if len(d.propositions) > 1 else _conjunction(d) for d in formula.ordered())


def edge_label(edge: Edge) -> str:
    """`formula` where the leaf is called, `callee | context` otherwise."""
    return pretty(edge.formula) if edge.calls_leaf else f"{edge.callee} | {pretty(edge.formula)}"


def printable(text: str) -> str:
    """The text in one line, without the characters that XML, DOT or a font cannot take."""
    return "".join(c if c.isprintable() else "↵" if c in _BREAKS else " " if c.isspace() else "�" for c in text)


def formula_sign(number: int) -> str:
    """The sign of a formula that is written out below the drawing: `φ₁`, `φ₂`, …"""
    return "φ" + str(number).translate(_SUBSCRIPTS)


def wrap(text: str, length: float = LINE_LENGTH, measure: Callable[[str], float] = len) -> tuple[str, ...]:
    """Lines broken before a disjunct where possible, otherwise before a conjunct, or else at spaces.

    A word longer than a line stays whole.

    Args:
        text: The text.
        length: The length of the longest line.
        measure: The length of a text: its characters, or its width.
    """
    lines: list[str] = []
    for disjunct in _DISJUNCT.split(text):
        if measure(disjunct) <= length:
            _append(lines, disjunct, length, measure)
            continue
        pieces: list[str] = []
        for conjunct in _CONJUNCT.split(disjunct):
            for word in [conjunct] if measure(conjunct) <= length else conjunct.split(" "):
                _append(pieces, word, length, measure)
        lines += pieces
    return tuple(lines)


def _append(lines: list[str], piece: str, length: float, measure: Callable[[str], float]) -> None:
    """Adds a piece to the last line, or as a new one if it does not fit there."""
    if lines and measure(f"{lines[-1]} {piece}") <= length:
        lines[-1] += " " + piece
    else:
        lines.append(piece)


def fold(text: str, length: int = LINE_LENGTH) -> tuple[str, ...]:
    """Lines that are never longer, for which long words are broken, too."""
    return tuple(piece for line in wrap(text, length) for piece in cut(line, length))


def label_lines(text: str, longest: int = LONG_LINE) -> tuple[str, ...]:
    """The lines of a label: two short ones at most, or else as long as they may be."""
    short = fold(text)
    return short if len(short) <= 2 else fold(text, longest)


def cut(text: str, length: int) -> tuple[str, ...]:
    """Lines of a long name, broken after the last of the usual separators that fits, and anywhere if none does."""
    lines: list[str] = []
    while len(text) > length:
        ends = (max(text.rfind(c, length // 2, length) for c in characters) + 1 for characters in _SEPARATORS)
        end = next(filter(None, ends), length)
        lines.append(text[:end])
        text = text[end:]
    return (*lines, text)


def _conjunction(conjunction: Conjunction) -> str:
    required = [quote(p) for p in sorted(conjunction.required)]
    forbidden = ["¬" + quote(p) for p in sorted(conjunction.forbidden)]
    return " ∧ ".join(required + forbidden) or "⊤"
