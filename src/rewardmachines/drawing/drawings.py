"""Drawings as values: shown by notebooks, and written to files whose suffixes name the format."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from rewardmachines.core.errors import RewardMachineError, TooLargeError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.sizes import size
from rewardmachines.core.traversal import HierarchyState
from rewardmachines.drawing.formats.canvas import render_pdf, render_png
from rewardmachines.drawing.formats.languages import to_dot, to_mermaid
from rewardmachines.drawing.formats.svg import render_svg
from rewardmachines.drawing.options import STANDARD, Background, Direction, DrawingOptions, Theme
from rewardmachines.drawing.scene.compose import compose
from rewardmachines.drawing.scene.machine_shapes import lights_at
from rewardmachines.drawing.scene.shapes import Scene
from rewardmachines.files.writing import write_aside

MAX_STATES: Final = 400
MAX_EDGES: Final = 1_200
_PATIENCE_SECONDS: Final = 60
_DOTS_PER_INCH: Final = 72


class LayoutEngine(Enum):
    """A layout engine. `BUILTIN` needs nothing installed; `GRAPHVIZ` needs its `dot` on the PATH."""

    BUILTIN = "builtin"
    GRAPHVIZ = "graphviz"


def to_svg(
    hierarchy: Hierarchy,
    *,
    engine: LayoutEngine | str = LayoutEngine.BUILTIN,
    options: DrawingOptions = STANDARD,
    at: HierarchyState | None = None,
) -> str:
    """The root and the machines that it calls, as a picture whose text can be selected and searched.

    Args:
        hierarchy: The hierarchy.
        engine: The engine that places states and edges.
        options: The options of the drawing.
        at: The hierarchy state: it is lit, and those in which callers wait are tinted.

    Raises:
        RewardMachineError: It is too large for a picture, or the engine is not there or cannot do it.
    """
    check_size(hierarchy)
    if dot := _chosen_dot(engine, at):
        return _run(dot, "svg", to_dot(hierarchy, options)).decode()
    return render_svg(_scene(hierarchy, options, at))


def to_png(
    hierarchy: Hierarchy,
    *,
    engine: LayoutEngine | str = LayoutEngine.BUILTIN,
    scale: float = 2.0,
    options: DrawingOptions = STANDARD,
    at: HierarchyState | None = None,
) -> bytes:
    """A picture in pixels.

    Args:
        hierarchy: The hierarchy.
        engine: The engine that places states and edges.
        scale: Pixels for each unit of the SVG; fewer are used if it would be gigantic.
        options: The options of the drawing.
        at: The hierarchy state: it is lit, and those in which callers wait are tinted.

    Raises:
        RewardMachineError: It is too large for a picture, the scale is not positive, or the engine is not there or
            cannot do it.
    """
    check_size(hierarchy)
    if not scale > 0:
        raise RewardMachineError(f"the scale of a picture must be positive, not {scale}")
    if dot := _chosen_dot(engine, at):
        return _run(dot, "png", to_dot(hierarchy, options), f"-Gdpi={_DOTS_PER_INCH * scale:g}")
    return render_png(_scene(hierarchy, options, at), scale)


def to_pdf(
    hierarchy: Hierarchy,
    *,
    engine: LayoutEngine | str = LayoutEngine.BUILTIN,
    options: DrawingOptions = STANDARD,
    at: HierarchyState | None = None,
) -> bytes:
    """A page for a paper: as large as the drawing, of lines and text, with its font embedded.

    Args:
        hierarchy: The hierarchy.
        engine: The engine that places states and edges.
        options: The options of the drawing. Four units of its width are three points.
        at: The hierarchy state: it is lit, and those in which callers wait are tinted.

    Raises:
        RewardMachineError: It is too large for a picture, or the engine is not there or cannot do it.
    """
    check_size(hierarchy)
    if dot := _chosen_dot(engine, at):
        return _run(dot, "pdf", to_dot(hierarchy, options))
    return render_pdf(_scene(hierarchy, options, at))


def check_size(hierarchy: Hierarchy) -> None:
    """Refuses hierarchies that are too large to be read as a picture.

    Raises:
        TooLargeError: There are too many states or edges.
    """
    whole = size(hierarchy)
    if whole.states > MAX_STATES or whole.edges > MAX_EDGES:
        raise TooLargeError(
            f"{whole.states:,} states and {whole.edges:,} edges do not make a readable picture: at most {MAX_STATES} "
            f"states and {MAX_EDGES:,} edges are drawn; write them to a file with `hrm export --to dot` instead"
        )


def _scene(hierarchy: Hierarchy, options: DrawingOptions, at: HierarchyState | None) -> Scene:
    return compose(hierarchy, options, lights=lights_at(at))


def _chosen_dot(engine: LayoutEngine | str, at: HierarchyState | None) -> str | None:
    """The path of `dot`, or None if the builtin engine shall draw."""
    try:
        engine = LayoutEngine(engine)
    except ValueError:
        names = ", ".join(f"'{known.value}'" for known in LayoutEngine)
        raise RewardMachineError(f"there is no engine '{engine}': choose one of {names}") from None
    if engine is LayoutEngine.BUILTIN:
        return None
    if at is not None:
        raise RewardMachineError("only the engine 'builtin' lights states")
    dot = shutil.which("dot")
    if dot is None:
        raise RewardMachineError("there is no `dot` on the PATH: install Graphviz or choose the engine 'builtin'")
    return dot


def _run(dot: str, form: str, source: str, *options: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 (the arguments are ours; the hierarchy goes to standard input)
            [dot, f"-T{form}", *options],
            input=source.encode(),
            capture_output=True,
            check=True,
            timeout=_PATIENCE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as problem:
        stderr = getattr(problem, "stderr", None) or b""
        reason = stderr.decode(errors="replace").strip() or str(problem)
        raise RewardMachineError(f"Graphviz failed ({reason}): the engine 'builtin' may do it") from problem
    return done.stdout


_SCALE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """A hierarchy and how it is drawn. A notebook shows it; `save` writes it to a file."""

    hierarchy: Hierarchy
    options: DrawingOptions = STANDARD
    engine: LayoutEngine | str = LayoutEngine.BUILTIN
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
            path: The file. It appears whole or not at all.

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
    engine: LayoutEngine | str = LayoutEngine.BUILTIN,
    scale: float = _SCALE,
) -> Drawing:
    """A drawing that a notebook shows, and that is written by `save`.

    Args:
        hierarchy: The hierarchy.
        at: The hierarchy state: it is lit, and those in which callers wait are tinted.
        direction: The direction of edges; "auto" is to the right, unless down is better for a machine that is too wide.
        width: The width of the page. Machines that are wider are broken into rows.
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
    engine: LayoutEngine | str = LayoutEngine.BUILTIN,
    options: DrawingOptions = STANDARD,
    scale: float = _SCALE,
) -> None:
    """Writes SVG, PDF, PNG, DOT or Mermaid (alone, or in a Markdown page), as the suffix of the path demands.

    Args:
        hierarchy: The hierarchy.
        path: The file. It appears whole or not at all.
        engine: The engine that places states and edges in SVG, PDF and PNG.
        options: The options of the drawing.
        scale: Pixels for each unit of the SVG, in a PNG.

    Raises:
        RewardMachineError: The suffix is none of these, or the engine is not installed.
    """
    Drawing(hierarchy, options, engine, scale=scale).save(path)
