"""Films in files, whose names say what they are: GIF, a page with a player, or video."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming.gif import save_gif
from rewardmachines.envs.filming.player import save_player
from rewardmachines.envs.filming.video import VIDEOS, find_ffmpeg, save_video

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


def save_film(frames: Sequence[Pixels], path: Path, *, title: str = "", frames_per_second: float = 8) -> None:
    """Writes a film, aside first and then renamed, as the suffix of the path says.

    Args:
        frames: The frames, all of one size.
        path: The file: `.gif`, `.html`, `.mp4` or `.webm`.
        title: The title of a page.
        frames_per_second: How fast it is shown.

    Raises:
        RewardMachineError: There is no frame, or a film cannot be written like that.
    """
    check_film_path(path)
    suffix = path.suffix.lower()
    if suffix == PAGE:
        save_player(frames, path, title=title, frames_per_second=frames_per_second)
        return
    save = save_gif if suffix == GIF else save_video
    save(frames, path, frames_per_second=frames_per_second, hold=LAST)
