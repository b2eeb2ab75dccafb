"""Drawings of the hierarchies that a run has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rewardmachines.core.errors import TooLargeError
from rewardmachines.drawing import Engine, save_drawing
from rewardmachines.reports.run_view import Progress, RunView
from rewardmachines.runs.folder import file_name

MACHINES: Final = "machines"
"""The name of the folder of drawings."""


def write_pictures(run: RunView, folder: Path, progress: Progress) -> dict[str, str | None]:
    """Draws every learned hierarchy, the root with all machines that it calls, as an SVG and as a PNG.

    The layout is our own, so that reports look the same wherever they are written.

    Args:
        run: The run.
        folder: The folder of the report.
        progress: Called with the name of each drawing before it is made.

    Returns:
        The paths of the SVGs inside the folder, by task; None for a hierarchy that is too large to draw.
    """
    pictures: dict[str, str | None] = {}
    (folder / MACHINES).mkdir(exist_ok=True)
    for name, hierarchy in run.hierarchies().items():
        progress(f"{MACHINES}/{name}")
        tree, path = hierarchy.rooted(name), f"{MACHINES}/{file_name(name)}"
        try:
            for suffix in (".svg", ".png"):
                save_drawing(tree, folder / f"{path}{suffix}", engine=Engine.BUILTIN)
            pictures[name] = f"{path}.svg"
        except TooLargeError:
            pictures[name] = None
    return pictures
