"""Drawings of the hierarchies that were learned."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rewardmachines.core.errors import TooLargeError
from rewardmachines.drawing import Engine, save_drawing
from rewardmachines.reports.run_view import Progress, RunView
from rewardmachines.runs.folder import file_name

MACHINES: Final = "machines"


def write_pictures(run: RunView, folder: Path, progress: Progress) -> dict[str, str | None]:
    """An SVG and a PNG of each, root and what it calls: the path of the SVG by task; None if it is too large to draw.

    The layout is our own, so that reports look the same wherever they are written.
    """
    found: dict[str, str | None] = {}
    (folder / MACHINES).mkdir(exist_ok=True)
    for name, hierarchy in run.hierarchies().items():
        progress(f"{MACHINES}/{name}")
        tree, path = hierarchy.rooted(name), f"{MACHINES}/{file_name(name)}"
        try:
            for form in (".svg", ".png"):
                save_drawing(tree, folder / f"{path}{form}", engine=Engine.BUILTIN)
            found[name] = f"{path}.svg"
        except TooLargeError:
            found[name] = None
    return found
