"""The engines that draw: the layout of this package, or Graphviz, if it is asked for."""

from __future__ import annotations

import shutil
import subprocess
from enum import Enum
from typing import Final

from rewardmachines.core.errors import RewardMachineError, TooLargeError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.sizes import size
from rewardmachines.core.traversal import HierarchyState
from rewardmachines.drawing.formats.dot import to_dot
from rewardmachines.drawing.formats.pdf import render_pdf
from rewardmachines.drawing.formats.png import render_png
from rewardmachines.drawing.formats.svg import render_svg
from rewardmachines.drawing.options import STANDARD, DrawingOptions
from rewardmachines.drawing.scene.compose import compose
from rewardmachines.drawing.scene.lights import lights_at
from rewardmachines.drawing.scene.shapes import Scene

MAX_STATES: Final = 400
MAX_EDGES: Final = 1_200
_PATIENCE_SECONDS: Final = 60
_DOTS_PER_INCH: Final = 72


class Engine(Enum):
    """A layout engine. `BUILTIN` needs nothing installed; `GRAPHVIZ` needs its `dot` on the PATH."""

    BUILTIN = "builtin"
    GRAPHVIZ = "graphviz"


def to_svg(
    hierarchy: Hierarchy,
    *,
    engine: Engine | str = Engine.BUILTIN,
    options: DrawingOptions = STANDARD,
    at: HierarchyState | None = None,
) -> str:
    """The root and the machines that it calls, as a picture whose text can be selected and searched.

    Args:
        hierarchy: What is drawn.
        engine: The engine that places states and edges.
        options: What is shown of it and how it looks.
        at: Where the hierarchy stands: this state is lit, and those in which callers wait are tinted.

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
    engine: Engine | str = Engine.BUILTIN,
    scale: float = 2.0,
    options: DrawingOptions = STANDARD,
    at: HierarchyState | None = None,
) -> bytes:
    """A picture in pixels.

    Args:
        hierarchy: What is drawn.
        engine: The engine that places states and edges.
        scale: Pixels for each unit of the SVG; fewer are used if it would be gigantic.
        options: What is shown of it and how it looks.
        at: Where the hierarchy stands: this state is lit, and those in which callers wait are tinted.

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
    engine: Engine | str = Engine.BUILTIN,
    options: DrawingOptions = STANDARD,
    at: HierarchyState | None = None,
) -> bytes:
    """A page for a paper: as large as the drawing, of lines and text, with its font embedded.

    Args:
        hierarchy: What is drawn.
        engine: The engine that places states and edges.
        options: What is shown of it and how it looks. Four units of its width are three points.
        at: Where the hierarchy stands: this state is lit, and those in which callers wait are tinted.

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


def _chosen_dot(engine: Engine | str, at: HierarchyState | None) -> str | None:
    """The path of `dot`, or None if the builtin engine shall draw."""
    try:
        engine = Engine(engine)
    except ValueError:
        names = ", ".join(f"'{known.value}'" for known in Engine)
        raise RewardMachineError(f"there is no engine '{engine}': choose one of {names}") from None
    if engine is Engine.BUILTIN:
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
