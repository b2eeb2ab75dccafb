"""Films as GIF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import Pixels
from rewardmachines.files.writing import write_aside

Codes = npt.NDArray[np.int32]

COLOURS: Final = 255
"""The largest number of colours of a film. The one that is left says of pixels that they stay as they are."""
EXACT: Final = 128
"""The number of colours of a large palette that are kept as they are."""


def save_gif(frames: Iterable[Pixels], path: str | Path, *, frames_per_second: float = 8) -> None:
    """Writes an endless animation, aside first and then renamed, so that `path` never holds a part of one.

    All frames share one palette, lest colours flicker; equal neighbours become one frame that is shown for longer.
    """
    if not frames_per_second > 0:
        raise RewardMachineError(f"an animation needs more than {frames_per_second:g} frames per second")
    first, *rest = mapped_frames(list(frames))
    written = BytesIO()
    duration = max(20, round(1000 / frames_per_second))  # browsers slow down what is faster
    first.save(written, "GIF", save_all=True, append_images=rest, duration=duration, loop=0, optimize=True)
    write_aside(path, written.getvalue())


def mapped_frames(frames: Sequence[Pixels]) -> list[Image.Image]:
    """The frames of a film as pictures that share one palette.

    Raises:
        RewardMachineError: There is no frame, or they differ in size.
    """
    pictures = [_in_colour(frame) for frame in frames]
    check_frames(pictures)
    return _mapped(pictures, _palette(pictures))


def _in_colour(frame: Pixels) -> Pixels:
    """The frame with red, green and blue. One that has them is not copied: an animation may have hundreds."""
    if frame.ndim == 3 and frame.shape[2] == 3:
        return frame
    return np.asarray(Image.fromarray(frame).convert("RGB"))


def check_frames(pictures: Sequence[Pixels]) -> None:
    """Checks that a film has frames, all of one size.

    Raises:
        RewardMachineError: It has none, or they differ.
    """
    if not pictures:
        raise RewardMachineError("an animation needs at least one frame")
    height, width = pictures[0].shape[:2]
    for number, picture in enumerate(pictures):
        if picture.shape[:2] != (height, width):
            differs = f"{picture.shape[1]}x{picture.shape[0]}"
            raise RewardMachineError(f"frame {number} is {differs} pixels, but frame 0 is {width}x{height}")


def _palette(pictures: Sequence[Pixels]) -> Pixels:
    """At most 255 colours, from frames spread over the animation: the commonest as they are, the others mixed.

    Mixing weighs by the root of how often a colour occurs, so that a small agent keeps its own. Shape [n, 3].
    """
    spread = pictures[:: max(1, len(pictures) // 8)]
    codes, counts = np.unique(np.concatenate([_codes(picture) for picture in spread]), return_counts=True)
    if len(codes) <= COLOURS:
        return _shades(codes)
    order = np.argsort(-counts, kind="stable")
    exact, others = order[:EXACT], order[EXACT:]
    weighted = np.repeat(_shades(codes[others]), np.ceil(np.sqrt(counts[others])).astype(int), axis=0)
    mixed = Image.fromarray(weighted[None]).quantize(COLOURS - EXACT, method=Image.Quantize.MEDIANCUT)
    return np.concatenate([_shades(codes[exact]), np.array(mixed.getpalette(), np.uint8).reshape(-1, 3)])[:COLOURS]


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
