"""Pictures of an episode, moving or not, and text beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.writing import write_aside

Pixels = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int32]

PAPER: Final = (247, 248, 250)
INK: Final = (33, 37, 41)
RULE: Final = (206, 212, 218)
LETTERS: Final = 14  # pixels of the font
LEADING: Final = 19  # pixels from line to line
MARGIN: Final = 12
MORE: Final = "..."
EXACT: Final = 128  # colours of a palette that are kept as they are

# The bundled font has none of these.
_SPELLED: Final = str.maketrans({"∧": "&", "∨": "|", "¬": "!", "⊤": "true", "⊥": "false", "→": "->", "…": MORE})


def save_gif(frames: Iterable[Pixels], path: str | Path, *, frames_per_second: float = 8) -> None:
    """Writes an endless animation, aside first and then renamed, so that `path` never holds a part of one.

    All frames share one palette, lest colours flicker; equal neighbours become one frame that is shown for longer.
    """
    if not frames_per_second > 0:
        raise RewardMachineError(f"an animation needs more than {frames_per_second:g} frames per second")
    pictures = [_in_colour(frame) for frame in frames]
    _check(pictures)
    first, *rest = _mapped(pictures, _palette(pictures))
    written = BytesIO()
    duration = max(20, round(1000 / frames_per_second))  # browsers slow down what is faster
    first.save(written, "GIF", save_all=True, append_images=rest, duration=duration, loop=0, optimize=True)
    write_aside(path, written.getvalue())


def save_picture(pixels: Pixels, path: str | Path) -> None:
    """Writes a PNG, aside first and then renamed."""
    written = BytesIO()
    Image.fromarray(pixels).save(written, "PNG", optimize=True)
    write_aside(path, written.getvalue())


def _in_colour(frame: Pixels) -> Pixels:
    """The frame with red, green and blue. One that has them is not copied: an animation may have hundreds."""
    if frame.ndim == 3 and frame.shape[2] == 3:
        return frame
    return np.asarray(Image.fromarray(frame).convert("RGB"))


def _check(pictures: Sequence[Pixels]) -> None:
    if not pictures:
        raise RewardMachineError("an animation needs at least one frame")
    height, width, _ = pictures[0].shape
    for number, picture in enumerate(pictures):
        if picture.shape[:2] != (height, width):
            differs = f"{picture.shape[1]}x{picture.shape[0]}"
            raise RewardMachineError(f"frame {number} is {differs} pixels, but frame 0 is {width}x{height}")


def _palette(pictures: Sequence[Pixels]) -> Pixels:
    """At most 256 colours, from frames spread over the animation: the commonest as they are, the others mixed.

    Mixing weighs by the root of how often a colour occurs, so that a small agent keeps its own. Shape [n, 3].
    """
    spread = pictures[:: max(1, len(pictures) // 8)]
    codes, counts = np.unique(np.concatenate([_codes(picture) for picture in spread]), return_counts=True)
    if len(codes) <= 256:
        return _shades(codes)
    order = np.argsort(-counts, kind="stable")
    exact, others = order[:EXACT], order[EXACT:]
    weighted = np.repeat(_shades(codes[others]), np.ceil(np.sqrt(counts[others])).astype(int), axis=0)
    mixed = Image.fromarray(weighted[None]).quantize(256 - EXACT, method=Image.Quantize.MEDIANCUT)
    return np.concatenate([_shades(codes[exact]), np.array(mixed.getpalette(), np.uint8).reshape(-1, 3)])[:256]


def _mapped(pictures: Sequence[Pixels], palette: Pixels) -> list[Image.Image]:
    """Every pixel as the nearest colour of the palette; Pillow's own mapping rounds, and misses exact ones."""
    occurs = np.zeros(1 << 24, np.bool_)
    for picture in pictures:
        occurs[_codes(picture)] = True
    index = np.zeros(1 << 24, np.uint8)
    for codes in np.array_split(np.flatnonzero(occurs).astype(np.int32), 16):
        apart = _shades(codes).astype(np.int32)[:, None] - palette
        index[codes] = (apart**2).sum(axis=-1).argmin(axis=-1)
    mapped = [Image.fromarray(index[_codes(picture)].reshape(picture.shape[:2])) for picture in pictures]
    for image in mapped:
        image.putpalette(palette.tobytes())
    return mapped


def _codes(picture: Pixels) -> Codes:
    """Each pixel as one number, its red, green and blue one after the other."""
    red, green, blue = picture.reshape(-1, 3).astype(np.int32).T
    return red << 16 | green << 8 | blue


def _shades(codes: Codes) -> Pixels:
    return np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1).astype(np.uint8)


def beside(picture: Pixels, text_lines: Sequence[str], *, width: int) -> Pixels:
    """The picture with a panel of text to its right, `width` pixels wide and as high as the picture.

    What does not fit, in a line or below the last, ends in dots: frames of one animation stay of one size.
    """
    height = picture.shape[0]
    panel = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(panel)
    draw.line((0, 0, 0, height), fill=RULE, width=1)
    for number, line in enumerate(_fitting(text_lines, height)):
        text = _shortened(line.translate(_SPELLED), width - 2 * MARGIN)
        draw.text((MARGIN, MARGIN + number * LEADING), text, font=_font(), fill=INK)
    return np.concatenate([picture, np.asarray(panel)], axis=1)


def _fitting(lines: Sequence[str], height: int) -> Sequence[str]:
    room = max(1, (height - 2 * MARGIN) // LEADING)
    return lines if len(lines) <= room else [*lines[: room - 1], MORE]


def _shortened(line: str, width: float) -> str:
    if _font().getlength(line) <= width:
        return line
    kept = line
    while kept and _font().getlength(kept + MORE) > width:
        kept = kept[:-1]
    return kept + MORE


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=LETTERS)
