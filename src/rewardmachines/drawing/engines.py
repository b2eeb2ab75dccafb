"""Who draws: Graphviz, where it is installed, or the layout of this package."""

from __future__ import annotations

import shutil
import subprocess
from enum import Enum
from typing import Final

from rewardmachines.core.errors import RewardMachineError, TooLargeError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.sizes import size
from rewardmachines.drawing.formats.dot import to_dot
from rewardmachines.drawing.formats.png import render_png
from rewardmachines.drawing.formats.svg import render_svg
from rewardmachines.drawing.scene.compose import compose

MAX_STATES: Final = 400
MAX_EDGES: Final = 1_200
_PATIENCE_SECONDS: Final = 60
_DOTS_PER_INCH: Final = 72


class Engine(Enum):
    """`AUTO` is Graphviz if its `dot` is on the PATH, and otherwise the builtin one, which needs nothing installed."""

    AUTO = "auto"
    BUILTIN = "builtin"
    GRAPHVIZ = "graphviz"


def to_svg(hierarchy: Hierarchy, *, engine: Engine | str = Engine.AUTO) -> str:
    """The root and the machines that it calls, as a picture whose text can be selected and searched.

    Args:
        hierarchy: What is drawn.
        engine: Who places states and edges.
    """
    check_size(hierarchy)
    if dot := _chosen_dot(engine):
        return _run(dot, "svg", to_dot(hierarchy)).decode()
    return render_svg(compose(hierarchy))


def to_png(hierarchy: Hierarchy, *, engine: Engine | str = Engine.AUTO, scale: float = 2.0) -> bytes:
    """A picture in pixels.

    Args:
        hierarchy: What is drawn.
        engine: Who places states and edges.
        scale: Pixels for each unit of the SVG; fewer are used if it would be gigantic.
    """
    check_size(hierarchy)
    if not scale > 0:
        raise RewardMachineError(f"the scale of a picture must be positive, not {scale}")
    if dot := _chosen_dot(engine):
        return _run(dot, "png", to_dot(hierarchy), f"-Gdpi={_DOTS_PER_INCH * scale:g}")
    return render_png(compose(hierarchy), scale)


def check_size(hierarchy: Hierarchy) -> None:
    """Refuses hierarchies that nobody could read as a picture.

    Raises:
        TooLargeError: There are too many states or edges.
    """
    whole = size(hierarchy)
    if whole.states > MAX_STATES or whole.edges > MAX_EDGES:
        raise TooLargeError(
            f"{whole.states:,} states and {whole.edges:,} edges do not make a readable picture: at most {MAX_STATES} "
            f"states and {MAX_EDGES:,} edges are drawn; write them to a file with `hrm export --to dot` instead"
        )


def _chosen_dot(engine: Engine | str) -> str | None:
    """The path of `dot`, or None if the builtin engine shall draw."""
    try:
        engine = Engine(engine)
    except ValueError:
        names = ", ".join(f"'{known.value}'" for known in Engine)
        raise RewardMachineError(f"there is no engine '{engine}': choose one of {names}") from None
    dot = None if engine is Engine.BUILTIN else shutil.which("dot")
    if engine is Engine.GRAPHVIZ and dot is None:
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
