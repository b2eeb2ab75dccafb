"""Captions: the two lines below every frame of a film, of one height in all frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import show_label
from rewardmachines.envs.domain import Pixels

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


HEIGHT: Final = 60
"""The height of a caption in pixels."""
_PAPER: Final = (255, 255, 255)
_INK: Final = (33, 37, 41)
_SOFT: Final = (92, 99, 106)
_RULE: Final = (206, 212, 218)
_GOOD: Final = (43, 106, 58)
_BAD: Final = (176, 42, 55)
_MARGIN: Final = 12
_GAP: Final = 18
_LINES: Final = (10, 34)
"""The upper ends of the two lines."""
_GOAL: Final = "GOAL"
_WITHIN: Final = " › "


@dataclass(frozen=True)
class Caption:
    """The text of a frame: task, step, reward, label, and the options that are followed."""

    task: str
    step: int
    """The number of steps that were taken before it."""
    label: Label
    """The label of this step."""
    reward: float = 0.0
    """The reward of the step that led here."""
    pursued: tuple[str, ...] = ()
    """The targets of the agent, such as the options that are followed, outermost first. The caption shortens them."""
    verb: str = "pursues"
    """The verb before these targets."""
    end: str = ""
    """The end of the episode in words, at its last step."""


def draw_caption(caption: Caption, width: int) -> Pixels:
    """A caption, `width` pixels wide. Text that does not fit ends in an ellipsis."""
    strip = Image.new("RGB", (width, HEIGHT), _PAPER)
    draw = ImageDraw.Draw(strip)
    draw.line((0, 0, width, 0), fill=_RULE)
    task = shortened(caption.task, width / 2, bold=True)
    draw.text((_MARGIN, _LINES[0]), task, font=font(bold=True), fill=_INK)
    left = _MARGIN + text_width(task, bold=True) + _GAP
    right = width - _MARGIN - (_badge(draw, caption.end, width) if caption.end else 0)
    draw.text(
        (left, _LINES[0]),
        shortened(f"step {caption.step}  ·  reward {caption.reward:g}", right - left),
        font=font(),
        fill=_SOFT,
    )
    label = shortened(f"label {show_label(caption.label)}", (width - 2 * _MARGIN) / (2 if caption.pursued else 1))
    draw.text((_MARGIN, _LINES[1]), label, font=font(), fill=_INK)
    if caption.pursued:
        left = max(width * 0.32, _MARGIN + text_width(label) + _GAP)  # where it stands still while labels change
        draw.text((left, _LINES[1]), _innermost(caption, width - _MARGIN - left), font=font(), fill=_SOFT)
    return np.asarray(strip)


def _innermost(caption: Caption, width: float) -> str:
    """The innermost targets, as many as fit: the drawing shows the others."""
    text, parts = "", caption.pursued
    for start in range(len(parts)):
        text = f"{caption.verb} {_WITHIN.join((MORE, *parts[start:]) if start else parts)}"
        if text_width(text) <= width:
            return text
    return shortened(text, width)


def _badge(draw: ImageDraw.ImageDraw, end: str, width: int) -> float:
    """Writes how an episode ended at the right of the first line, and returns how wide that is."""
    text = shortened(end, width / 3, bold=True)
    wide = text_width(text, bold=True) + 16
    box = (width - _MARGIN - wide, _LINES[0] - 4, width - _MARGIN, _LINES[0] + LETTERS + 4)
    draw.rounded_rectangle(box, 6, fill=_GOOD if end == _GOAL else _BAD)
    draw.text((box[0] + 8, _LINES[0]), text, font=font(bold=True), fill=_PAPER)
    return wide + _GAP
