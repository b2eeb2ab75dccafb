"""Drawings in files, whose names say what is in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.drawing.engines import Engine, to_png, to_svg
from rewardmachines.drawing.formats.dot import to_dot
from rewardmachines.drawing.formats.mermaid import to_mermaid
from rewardmachines.files.writing import write_aside


def save_drawing(hierarchy: Hierarchy, path: str | os.PathLike[str], *, engine: Engine | str = Engine.AUTO) -> None:
    """Writes SVG, PNG, DOT or Mermaid (alone, or in a Markdown page), as the suffix of the path demands.

    Args:
        hierarchy: What is drawn.
        path: Where to. The file appears whole or not at all.
        engine: Who places states and edges in SVG and PNG.

    Raises:
        RewardMachineError: The suffix is none of these, or the engine is not installed.
    """
    path = Path(path)
    try:
        draw = _BY_SUFFIX[path.suffix.lower()]
    except KeyError:
        wanted = f"ends in '{path.suffix}'" if path.suffix else "has no suffix"
        known = ", ".join(_BY_SUFFIX)
        raise RewardMachineError(f"'{path}' {wanted}, which is no kind of drawing: end it in one of {known}") from None
    if not path.parent.is_dir():
        raise RewardMachineError(f"there is no folder '{path.parent}' to write '{path.name}' into")
    write_aside(path, draw(hierarchy, engine))


def _svg(hierarchy: Hierarchy, engine: Engine | str) -> bytes:
    return to_svg(hierarchy, engine=engine).encode()


def _png(hierarchy: Hierarchy, engine: Engine | str) -> bytes:
    return to_png(hierarchy, engine=engine)


def _dot(hierarchy: Hierarchy, _: Engine | str) -> bytes:
    return to_dot(hierarchy).encode()


def _mermaid(hierarchy: Hierarchy, _: Engine | str) -> bytes:
    return to_mermaid(hierarchy).encode()


def _markdown(hierarchy: Hierarchy, _: Engine | str) -> bytes:
    return f"```mermaid\n{to_mermaid(hierarchy)}```\n".encode()


_BY_SUFFIX: Final[Mapping[str, Callable[[Hierarchy, Engine | str], bytes]]] = {
    ".svg": _svg,
    ".png": _png,
    ".dot": _dot,
    ".gv": _dot,
    ".mmd": _mermaid,
    ".md": _markdown,
}
