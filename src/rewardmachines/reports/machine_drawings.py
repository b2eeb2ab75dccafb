"""Drawings of the hierarchies that a run has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.drawing import DrawingOptions, Engine, to_png, to_svg
from rewardmachines.files import write_aside
from rewardmachines.reports.dark_mode import suit_both
from rewardmachines.reports.run_view import Progress, RunView
from rewardmachines.runs.folder import file_name

MACHINES: Final = "machines"
"""The name of the folder of drawings."""


def save_both(hierarchy: Hierarchy, path: Path) -> None:
    """Draws a hierarchy as an SVG, which suits light and dark pages, and as a PNG.

    The layout is our own, so that reports look the same wherever they are written.

    Args:
        hierarchy: The hierarchy.
        path: The path of both files, without their suffixes.

    Raises:
        TooLargeError: The hierarchy is too large to be drawn.
    """
    # The page is behind the SVG, whatever its colour.
    clear = DrawingOptions(background="transparent")
    write_aside(f"{path}.svg", suit_both(to_svg(hierarchy, engine=Engine.BUILTIN, options=clear)))
    write_aside(f"{path}.png", to_png(hierarchy, engine=Engine.BUILTIN))


def write_pictures(run: RunView, folder: Path, progress: Progress) -> dict[str, str | None]:
    """Draws every learned hierarchy, the root with all machines that it calls, as an SVG and as a PNG.

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
            save_both(tree, folder / path)
            pictures[name] = f"{path}.svg"
        except TooLargeError:
            pictures[name] = None
    return pictures
