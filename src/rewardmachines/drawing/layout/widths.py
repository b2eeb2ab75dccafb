"""Text widths in DejaVu Sans, as a table, so that boxes fit their text without loading a font."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

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
