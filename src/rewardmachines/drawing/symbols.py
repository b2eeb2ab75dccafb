"""Formulas and names as pictures show them: ¬, ∧, ∨ and ⊤ instead of what a keyboard offers."""

from __future__ import annotations

import re
from typing import Final

from rewardmachines.core.formula import Conjunction, Formula, quote
from rewardmachines.core.machine import Edge

LINE_LENGTH: Final = 28
LABEL_LENGTH: Final = 60
"""Longer labels end in an ellipsis; their full text is in the tooltip."""

_DISJUNCT: Final = re.compile(" (?=∨ )")
_SEPARATORS: Final = "/>-_. "
_BREAKS: Final = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")


def pretty(formula: Formula) -> str:
    """The formula as the paper writes it, short disjuncts first."""
    if formula.is_false:
        return "⊥"
    if len(formula.disjuncts) == 1:
        return _conjunction(*formula.disjuncts)
    return " ∨ ".join(f"({_conjunction(d)})" if len(d.propositions) > 1 else _conjunction(d) for d in formula.ordered())


def edge_label(edge: Edge) -> str:
    """`formula` where the leaf is called, `callee | context` elsewhere."""
    return pretty(edge.formula) if edge.calls_leaf else f"{edge.callee} | {pretty(edge.formula)}"


def printable(text: str) -> str:
    """The text in one line, without the characters that XML, DOT or a font cannot take."""
    return "".join(c if c.isprintable() else "↵" if c in _BREAKS else " " if c.isspace() else "�" for c in text)


def shorten(text: str, length: int = LABEL_LENGTH) -> str:
    """The text, with an ellipsis for what is too long."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def wrap(text: str, length: int = LINE_LENGTH) -> tuple[str, ...]:
    """Lines broken before a disjunct where possible, and elsewhere at spaces; a word longer than a line stays whole."""
    lines: list[str] = []
    for disjunct in _DISJUNCT.split(text):
        words = [disjunct] if len(disjunct) <= length else disjunct.split(" ")
        for word in words:
            if lines and len(lines[-1]) + 1 + len(word) <= length:
                lines[-1] += " " + word
            else:
                lines.append(word)
    return tuple(lines)


def cut(text: str, length: int) -> tuple[str, ...]:
    """Lines of a long name, broken after the last of the usual separators that fits, and anywhere if none does."""
    lines: list[str] = []
    while len(text) > length:
        end = max(text.rfind(separator, length // 2, length) for separator in _SEPARATORS) + 1 or length
        lines.append(text[:end])
        text = text[end:]
    return (*lines, text)


def _conjunction(conjunction: Conjunction) -> str:
    required = [quote(p) for p in sorted(conjunction.required)]
    forbidden = ["¬" + quote(p) for p in sorted(conjunction.forbidden)]
    return " ∧ ".join(required + forbidden) or "⊤"
