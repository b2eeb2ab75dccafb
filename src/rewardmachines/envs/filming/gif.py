"""Films as GIF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming.palette import mapped_frames
from rewardmachines.files.writing import write_aside


def save_gif(frames: Iterable[Pixels], path: str | Path, *, frames_per_second: float = 8, hold: int = 0) -> None:
    """Writes an endless animation, aside first and then renamed, so that `path` never holds a part of one.

    Equal neighbours become one frame that is shown for longer.

    Args:
        frames: The frames, all of one size.
        path: The file.
        frames_per_second: How fast it is shown.
        hold: How many times the last frame is repeated.

    Raises:
        RewardMachineError: There is no frame, or they differ in size, or it would not move.
    """
    if not frames_per_second > 0:
        raise RewardMachineError(f"an animation needs more than {frames_per_second:g} frames per second")
    first, *rest = mapped_frames(frames if isinstance(frames, Sequence) else list(frames))
    rest += [(rest or [first])[-1]] * hold
    written = BytesIO()
    duration = max(20, round(1000 / frames_per_second))  # browsers slow down what is faster
    first.save(written, "GIF", save_all=True, append_images=rest, duration=duration, loop=0, optimize=True)
    write_aside(path, written.getvalue())
