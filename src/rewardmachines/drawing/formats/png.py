"""A scene as PNG, through matplotlib's Agg canvas."""

from __future__ import annotations

import io
import math
from typing import Final

from rewardmachines.drawing.formats.canvas import paint
from rewardmachines.drawing.scene.shapes import Scene

MAX_SIDE: Final = 30_000
MAX_PIXELS: Final = 60_000_000
"""Larger pictures are drawn at a smaller scale."""


def render_png(scene: Scene, scale: float) -> bytes:
    """One unit of the scene becomes `scale` pixels."""
    scale = min(scale, MAX_SIDE / max(scene.width, scene.height), math.sqrt(MAX_PIXELS / (scene.width * scene.height)))
    return _png(scene, scene.width, scene.height, scale)


def render_png_within(scene: Scene, width: int, height: int) -> bytes:
    """A picture of exactly `width` by `height` pixels, with the scene in its middle, as large as fits."""
    scale = min(width / scene.width, height / scene.height)
    return _png(scene, width / scale, height / scale, scale)


def _png(scene: Scene, width: float, height: float, scale: float) -> bytes:
    from matplotlib import rc_context

    figure = paint(scene, width, height, pixels=scale)
    file = io.BytesIO()
    # Letters that are moved to whole pixels would make small texts wider than their boxes.
    with rc_context({"text.hinting": "none"}):
        figure.savefig(file, format="png")
    return file.getvalue()
