"""Films as video, by way of FFmpeg, which need not be installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, repeat
from pathlib import Path
from typing import Final

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming.palette import same_size
from rewardmachines.files.extras import explain_missing
from rewardmachines.files.writing import write_aside

VIDEOS: Final[Mapping[str, tuple[str, ...]]] = {
    ".mp4": ("-c:v", "libx264", "-crf", "20", "-movflags", "+faststart"),
    ".webm": ("-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0"),
}
"""The suffixes of videos, each with the arguments of FFmpeg."""


def find_ffmpeg(suffix: str) -> str:
    """The path of FFmpeg: that on the PATH, or the one that the package `imageio-ffmpeg` brings.

    Args:
        suffix: That of the film, for the message.

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
        frames_per_second: How fast it is shown.
        hold: How many times the last frame is repeated.

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
