"""A drawing as a value: shown by notebooks, and written to files whose names say what is in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState
from rewardmachines.drawing.engines import Engine, to_pdf, to_png, to_svg
from rewardmachines.drawing.formats.dot import to_dot
from rewardmachines.drawing.formats.mermaid import to_mermaid
from rewardmachines.drawing.options import STANDARD, Background, Direction, DrawingOptions, Theme
from rewardmachines.files.writing import write_aside

_SCALE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """A hierarchy and how it is drawn. A notebook shows it; `save` writes it to a file."""

    hierarchy: Hierarchy
    options: DrawingOptions = STANDARD
    engine: Engine | str = Engine.BUILTIN
    at: HierarchyState | None = None
    scale: float = _SCALE

    def svg(self) -> str:
        """The drawing as an SVG document."""
        return to_svg(self.hierarchy, engine=self.engine, options=self.options, at=self.at)

    def png(self) -> bytes:
        """The drawing in pixels, `scale` of them for each unit of the SVG."""
        return to_png(self.hierarchy, engine=self.engine, scale=self.scale, options=self.options, at=self.at)

    def pdf(self) -> bytes:
        """The drawing as a page for a paper."""
        return to_pdf(self.hierarchy, engine=self.engine, options=self.options, at=self.at)

    def dot(self) -> str:
        """The drawing in Graphviz's language."""
        return to_dot(self.hierarchy, self.options)

    def mermaid(self) -> str:
        """The drawing in Mermaid's language."""
        return to_mermaid(self.hierarchy, self.options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes SVG, PDF, PNG, DOT or Mermaid (alone, or in a Markdown page), as the suffix of the path demands.

        Args:
            path: Where to. The file appears whole or not at all.

        Raises:
            RewardMachineError: The suffix is none of these, or the engine is not installed.
        """
        path = Path(path)
        try:
            written = _BY_SUFFIX[path.suffix.lower()]
        except KeyError:
            wanted = f"ends in '{path.suffix}'" if path.suffix else "has no suffix"
            known = ", ".join(_BY_SUFFIX)
            raise RewardMachineError(
                f"'{path}' {wanted}, which is no kind of drawing: end it in one of {known}"
            ) from None
        if not path.parent.is_dir():
            raise RewardMachineError(f"there is no folder '{path.parent}' to write '{path.name}' into")
        write_aside(path, written(self))

    def _repr_svg_(self) -> str:
        """The SVG for notebooks."""
        return self.svg()


_BY_SUFFIX: Final[Mapping[str, Callable[[Drawing], bytes]]] = {
    ".svg": lambda drawing: drawing.svg().encode(),
    ".pdf": Drawing.pdf,
    ".png": Drawing.png,
    ".dot": lambda drawing: drawing.dot().encode(),
    ".gv": lambda drawing: drawing.dot().encode(),
    ".mmd": lambda drawing: drawing.mermaid().encode(),
    ".md": lambda drawing: f"```mermaid\n{drawing.mermaid()}```\n".encode(),
}


def draw(
    hierarchy: Hierarchy,
    *,
    at: HierarchyState | None = None,
    direction: Direction = "auto",
    width: float = STANDARD.width,
    theme: Theme = "light",
    background: Background = "tinted",
    machine: str | None = None,
    titles: bool = True,
    frames: bool = True,
    engine: Engine | str = Engine.BUILTIN,
    scale: float = _SCALE,
) -> Drawing:
    """A drawing that a notebook shows, and that is written by `save`.

    Args:
        hierarchy: What is drawn.
        at: Where the hierarchy stands: this state is lit, and those in which callers wait are tinted.
        direction: Where edges lead; "auto" is to the right, unless down is better for a machine that is too wide.
        width: Of the page. Machines that are wider are broken into rows.
        theme: Dark letters on light panels, or the other way round.
        background: A tint that suits the theme, white, or nothing.
        machine: The name of the only machine that is drawn.
        titles: Whether the names of machines are shown.
        frames: Whether every machine has a panel with a frame.
        engine: The engine that places states and edges.
        scale: Pixels for each unit of the SVG, in a PNG.

    Raises:
        RewardMachineError: An option is none of those that there are.

    >>> from rewardmachines import compile_task, draw
    >>> draw(compile_task("iron ; table"), theme="dark").svg()[:4]
    '<svg'
    """
    options = DrawingOptions(
        direction=direction,
        width=width,
        theme=theme,
        background=background,
        machine=machine,
        titles=titles,
        frames=frames,
    )
    return Drawing(hierarchy, options, engine, at, scale)


def save_drawing(
    hierarchy: Hierarchy,
    path: str | os.PathLike[str],
    *,
    engine: Engine | str = Engine.BUILTIN,
    options: DrawingOptions = STANDARD,
    scale: float = _SCALE,
) -> None:
    """Writes SVG, PDF, PNG, DOT or Mermaid (alone, or in a Markdown page), as the suffix of the path demands.

    Args:
        hierarchy: What is drawn.
        path: Where to. The file appears whole or not at all.
        engine: The engine that places states and edges in SVG, PDF and PNG.
        options: What is shown of it and how it looks.
        scale: Pixels for each unit of the SVG, in a PNG.

    Raises:
        RewardMachineError: The suffix is none of these, or the engine is not installed.
    """
    Drawing(hierarchy, options, engine, scale=scale).save(path)
