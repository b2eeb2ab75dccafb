"""Films as a page with a player: play, pause, step, speed. It needs no codec, no network and no other file."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming.palette import COLOURS, mapped_frames
from rewardmachines.files.writing import write_aside

Indices = npt.NDArray[np.uint8]
UNCHANGED: Final = COLOURS
"""The index of no colour."""


def save_player(frames: Sequence[Pixels], path: Path, *, title: str, frames_per_second: float) -> None:
    """Writes a page that plays a film, aside first and then renamed.

    Args:
        frames: The frames, all of one size.
        path: The file.
        title: The title of the page.
        frames_per_second: How fast it is shown; the page offers other speeds.

    Raises:
        RewardMachineError: There is no frame, or they differ in size.
    """
    changes = list(_changes(frames))
    height, width = frames[0].shape[:2]
    film = {"width": width, "height": height, "rate": frames_per_second, "changes": changes}
    template = (resources.files("rewardmachines.envs.filming") / "player.html").read_text(encoding="utf-8")
    # In a script, "<" could end it; in the rest of the page, the title could be an element.
    data = json.dumps(film, separators=(",", ":")).replace("<", "\\u003c")
    first = changes[0]["image"] if changes[0] else ""
    filled = {"TITLE": escape(title), "FIRST": first, "FILM": data}
    write_aside(path, re.sub("@(TITLE|FIRST|FILM)@", lambda found: filled[found.group(1)], template))


def _changes(frames: Sequence[Pixels]) -> Iterable[dict[str, Any] | None]:
    """The changes from frame to frame: a rectangle and its picture; nothing between equal frames."""
    before: Indices | None = None
    for frame in mapped_frames(frames):
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
