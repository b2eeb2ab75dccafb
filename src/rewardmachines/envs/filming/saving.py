"""Films in files, whose suffixes name the format: GIF, a page with a player, or video."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from importlib import resources
from io import BytesIO
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import Pixels
from rewardmachines.files.extras import explain_missing
from rewardmachines.files.writing import write_aside

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


def save_gif(frames: Iterable[Pixels], path: str | Path, *, frames_per_second: float = 8, hold: int = 0) -> None:
    """Writes an endless animation, aside first and then renamed, so that `path` never holds a part of one.

    Equal neighbours become one frame that is shown for longer.

    Args:
        frames: The frames, all of one size.
        path: The file.
        frames_per_second: The frame rate.
        hold: The number of repetitions of the last frame.

    Raises:
        RewardMachineError: There is no frame, or they differ in size, or it would not move.
    """
    if not frames_per_second > 0:
        raise RewardMachineError(f"an animation needs more than {frames_per_second:g} frames per second")
    _write_gif(
        list(mapped_frames(frames if isinstance(frames, Sequence) else list(frames))),
        Path(path),
        frames_per_second,
        hold,
    )


def _write_gif(pictures: Sequence[Image.Image], path: Path, frames_per_second: float, hold: int) -> None:
    first, *rest = pictures
    rest += [(rest or [first])[-1]] * hold
    written = BytesIO()
    duration = max(20, round(1000 / frames_per_second))  # browsers slow down what is faster
    first.save(written, "GIF", save_all=True, append_images=rest, duration=duration, loop=0, optimize=True)
    write_aside(path, written.getvalue())


Indices = npt.NDArray[np.uint8]
UNCHANGED: Final = COLOURS
"""The index of no colour."""


def _write_player(pictures: Sequence[Image.Image], path: Path, title: str, frames_per_second: float) -> None:
    """Writes a page that plays a film, aside first and then renamed. The page offers other speeds, too."""
    changes = list(_changes(pictures))
    width, height = pictures[0].size
    film = {"width": width, "height": height, "rate": frames_per_second, "changes": changes}
    template = (resources.files("rewardmachines.envs.filming") / "player.html").read_text(encoding="utf-8")
    # In a script, "<" could end it; in the rest of the page, the title could be an element.
    data = json.dumps(film, separators=(",", ":")).replace("<", "\\u003c")
    first = changes[0]["image"] if changes[0] else ""
    filled = {"TITLE": escape(title), "FIRST": first, "FILM": data}
    write_aside(path, re.sub("@(TITLE|FIRST|FILM)@", lambda found: filled[found.group(1)], template))


def _changes(pictures: Sequence[Image.Image]) -> Iterable[dict[str, Any] | None]:
    """The changes from frame to frame: a rectangle and its picture; nothing between equal frames."""
    before: Indices | None = None
    for frame in pictures:
        indices = np.asarray(frame)
        differs = np.ones(indices.shape, bool) if before is None else indices != before
        before = indices
        if not differs.any():
            yield None
            continue
        rows, columns = (np.flatnonzero(differs.any(axis=axis)) for axis in (1, 0))
        top, left = int(rows[0]), int(columns[0])
        where = slice(top, int(rows[-1]) + 1), slice(left, int(columns[-1]) + 1)
        shown = np.where(differs, indices, UNCHANGED)[where]
        palette = np.array(frame.getpalette(), np.uint8).reshape(-1, 3)
        image = f"data:image/png;base64,{base64.b64encode(_png(shown, palette)).decode()}"
        yield {"x": left, "y": top, "image": image}


def _png(indices: npt.NDArray[np.int64], palette: Pixels) -> bytes:
    """A picture with no more colours than it needs. What stays as it is is transparent, and takes hardly any room."""
    used, compact = np.unique(indices, return_inverse=True)
    picture = Image.fromarray(compact.reshape(indices.shape).astype(np.uint8))
    room = np.vstack([palette, np.zeros((UNCHANGED + 1 - len(palette), 3), np.uint8)])
    picture.putpalette(room[used].tobytes())
    written = BytesIO()
    # No colour has a higher index than that of no colour.
    transparent = {"transparency": len(used) - 1} if used[-1] == UNCHANGED else {}
    picture.save(written, "PNG", optimize=True, **transparent)
    return written.getvalue()


VIDEOS: Final[Mapping[str, tuple[str, ...]]] = {
    ".mp4": ("-c:v", "libx264", "-crf", "20", "-movflags", "+faststart"),
    ".webm": ("-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0"),
}
"""The suffixes of videos, each with the arguments of FFmpeg."""


def find_ffmpeg(suffix: str) -> str:
    """The path of FFmpeg: that on the PATH, or the one that the package `imageio-ffmpeg` brings.

    Args:
        suffix: The suffix of the film, for the message.

    Raises:
        MissingExtraError: There is neither.
    """
    if found := shutil.which("ffmpeg"):
        return found
    with explain_missing(f"a film as {suffix} (as .gif and .html it needs nothing)"):
        import imageio_ffmpeg
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def save_video(frames: Sequence[Pixels], path: Path, *, frames_per_second: float, hold: int = 0) -> None:
    """Writes a video, aside first and then renamed.

    Args:
        frames: The frames, all of one size.
        path: The file.
        frames_per_second: The frame rate.
        hold: The number of repetitions of the last frame.

    Raises:
        RewardMachineError: There is no frame, frames differ in size, or FFmpeg is missing or fails.
    """
    if not frames:
        raise RewardMachineError("an animation needs at least one frame")
    suffix = path.suffix.lower()
    ffmpeg = find_ffmpeg(suffix)
    # Codecs need sides of even length.
    height, width = (side + side % 2 for side in frames[0].shape[:2])
    lasting = same_size(chain(frames, repeat(frames[-1], hold)))
    even = (np.pad(f, ((0, height - f.shape[0]), (0, width - f.shape[1]), (0, 0)), "edge") for f in lasting)
    size = f"{width}x{height}"
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", f"{frames_per_second:g}", "-i", "-"]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"film{suffix}"
        command = [ffmpeg, "-loglevel", "error", *source, *VIDEOS[suffix], "-pix_fmt", "yuv420p", str(made)]
        problem = _feed(command, even)
        if problem is not None:
            raise RewardMachineError(f"{path}: FFmpeg failed: {problem}")
        write_aside(path, made.read_bytes())


def _feed(command: Sequence[str], frames: Iterable[Pixels]) -> str | None:
    """Runs FFmpeg with frames as its input, one after the other, and returns the last line of its complaints."""
    try:
        # The arguments are ours; what the user gave is in the frames.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603
            assert process.stdin is not None
            assert process.stderr is not None
            with suppress(BrokenPipeError):  # it has ended already, and says why
                for frame in frames:
                    process.stdin.write(frame.tobytes())
                process.stdin.close()
            complaints = process.stderr.read().decode(errors="replace").strip().splitlines()
    except OSError as problem:
        return str(problem)
    if process.returncode == 0:
        return None
    return complaints[-1] if complaints else f"exit status {process.returncode}"


GIF: Final = ".gif"
PAGE: Final = ".html"
LAST: Final = 12
"""The number of times that the last frame is repeated in what cannot be paused, so that the end can be read."""


def check_film_path(path: Path) -> None:
    """Checks that a film can be written to a file, before it is made.

    Raises:
        RewardMachineError: Its suffix is none of those of films, its folder does not exist, or FFmpeg is not installed.
    """
    suffix = path.suffix.lower()
    if suffix not in (GIF, PAGE, *VIDEOS):
        raise RewardMachineError(
            f"'{path}' is no name of a film: end it in {GIF}, {PAGE} (a player that can be paused), "
            f"{' or '.join(VIDEOS)}"
        )
    if not path.parent.is_dir():
        raise RewardMachineError(f"there is no folder '{path.parent}' to write '{path.name}' into")
    if suffix in VIDEOS:
        find_ffmpeg(suffix)


def save_film(frames: Sequence[Pixels], *paths: Path, title: str = "", frames_per_second: float = 8) -> None:
    """Writes a film, aside first and then renamed, as the suffixes of the paths say. Its frames are drawn once.

    Args:
        frames: The frames, all of one size.
        paths: The files: `.gif`, `.html`, `.mp4` or `.webm`.
        title: The title of a page.
        frames_per_second: The frame rate.

    Raises:
        RewardMachineError: There is no frame, or a film cannot be written like that.
    """
    for path in paths:
        check_film_path(path)
    suffixes = [path.suffix.lower() for path in paths]
    pictures = list(mapped_frames(frames)) if {GIF, PAGE}.intersection(suffixes) else []
    for path, suffix in zip(paths, suffixes, strict=True):
        if suffix == PAGE:
            _write_player(pictures, path, title, frames_per_second)
        elif suffix == GIF:
            _write_gif(pictures, path, frames_per_second, LAST)
        else:
            save_video(frames, path, frames_per_second=frames_per_second, hold=LAST)
