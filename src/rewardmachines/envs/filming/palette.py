"""Frames with few colours: all frames of a film share one palette, lest colours flicker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import Pixels

Codes = npt.NDArray[np.int32]

COLOURS: Final = 255
"""The largest number of colours of a film. The one that is left says of pixels that they stay as they are."""
EXACT: Final = 128
"""The number of colours of a large palette that are kept as they are."""
_SAMPLES: Final = 8
"""About how many frames the palette is made from; the last is always one of them."""


def mapped_frames(frames: Sequence[Pixels]) -> Iterator[Image.Image]:
    """The frames of a film as pictures that share one palette, one after the other.

    Args:
        frames: The frames. Those that are drawn when they are asked for are not kept.

    Raises:
        RewardMachineError: There is no frame, or they differ in size.
    """
    spread = {*range(0, len(frames), max(1, len(frames) // _SAMPLES)), len(frames) - 1}
    palette = _palette([_in_colour(frames[number]) for number in sorted(spread)] if frames else [])
    known, index = np.zeros(1 << 24, np.bool_), np.zeros(1 << 24, np.uint8)
    for frame in same_size(frames):
        codes = _codes(_in_colour(frame))
        new = np.unique(codes[~known[codes]])
        for part in np.array_split(new, 1 + len(new) // 4096):
            index[part] = _nearest(part, palette)
        known[new] = True
        image = Image.fromarray(index[codes].reshape(frame.shape[:2]))
        image.putpalette(palette.tobytes())
        yield image


def same_size(frames: Iterable[Pixels]) -> Iterator[Pixels]:
    """The frames of a film, one after the other.

    Raises:
        RewardMachineError: There is none, or one has another size than the first.
    """
    first: tuple[int, ...] | None = None
    for number, frame in enumerate(frames):
        height, width = frame.shape[:2]
        first = first or (height, width)
        if (height, width) != first:
            raise RewardMachineError(f"frame {number} is {width}x{height} pixels, but frame 0 is {first[1]}x{first[0]}")
        yield frame
    if first is None:
        raise RewardMachineError("an animation needs at least one frame")


def _in_colour(frame: Pixels) -> Pixels:
    """The frame with red, green and blue. One that has them is not copied: a film may have hundreds."""
    if frame.ndim == 3 and frame.shape[2] == 3:
        return frame
    return np.asarray(Image.fromarray(frame).convert("RGB"))


def _palette(pictures: Sequence[Pixels]) -> Pixels:
    """At most 255 colours: the commonest as they are, the others mixed.

    Mixing weighs by the root of how often a colour occurs, so that a small agent keeps its own. Shape [n, 3].
    """
    if not pictures:
        return np.zeros((0, 3), np.uint8)
    codes, counts = np.unique(np.concatenate([_codes(picture) for picture in pictures]), return_counts=True)
    if len(codes) <= COLOURS:
        return _shades(codes)
    order = np.argsort(-counts, kind="stable")
    exact, others = order[:EXACT], order[EXACT:]
    weighted = np.repeat(_shades(codes[others]), np.ceil(np.sqrt(counts[others])).astype(int), axis=0)
    mixed = Image.fromarray(weighted[None]).quantize(COLOURS - EXACT, method=Image.Quantize.MEDIANCUT)
    return np.concatenate([_shades(codes[exact]), np.array(mixed.getpalette(), np.uint8).reshape(-1, 3)])[:COLOURS]


def _nearest(codes: Codes, palette: Pixels) -> npt.NDArray[np.int64]:
    """The nearest colour of the palette; Pillow's own mapping rounds, and misses exact ones."""
    apart = _shades(codes).astype(np.int32)[:, None] - palette
    nearest: npt.NDArray[np.int64] = np.argmin((apart**2).sum(axis=-1), axis=-1)
    return nearest


def _codes(picture: Pixels) -> Codes:
    """Each pixel as one number, its red, green and blue one after the other."""
    red, green, blue = picture.reshape(-1, 3).astype(np.int32).T
    return red << 16 | green << 8 | blue


def _shades(codes: Codes) -> Pixels:
    return np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1).astype(np.uint8)
