"""Text in frames of a film, in the letters of the drawn hierarchies."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from PIL import ImageFont

LETTERS: Final = 14
"""The height of the font in pixels."""
MORE: Final = "…"
"""The end of a text that was shortened."""


def shortened(text: str, width: float, *, bold: bool = False) -> str:
    """The text, shortened with an ellipsis to at most `width` pixels."""
    letters = font(bold=bold)
    if letters.getlength(text) <= width:
        return text
    kept = text
    while kept and letters.getlength(kept + MORE) > width:
        kept = kept[:-1]
    return kept.rstrip() + MORE


def text_width(text: str, *, bold: bool = False) -> float:
    """The width of a text in pixels."""
    return float(font(bold=bold).getlength(text))


@cache
def font(*, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which has the symbols of formulas and comes with Matplotlib."""
    # Importing Matplotlib takes long, so it waits for the first text.
    from matplotlib import get_data_path

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(get_data_path()) / "fonts" / "ttf" / name), LETTERS)
