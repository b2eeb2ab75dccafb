"""Pictures of one size for a film: the hierarchy, with the states lit where it stands."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState
from rewardmachines.drawing.drawings import check_size
from rewardmachines.drawing.formats.canvas import render_png_within
from rewardmachines.drawing.options import STANDARD, DrawingOptions
from rewardmachines.drawing.scene.compose import compose
from rewardmachines.drawing.scene.machine_shapes import Lights, lights_at

_WIDTHS: Final = (800.0, 650.0, 520.0, 420.0, 340.0, 270.0)
_REMEMBERED: Final = 256
"""The number of frames that are kept: a film shows few different ones, many times."""


def draw_frame(
    hierarchy: Hierarchy,
    state: HierarchyState | None,
    *,
    width: int,
    height: int,
    options: DrawingOptions = STANDARD,
) -> bytes:
    """A PNG of the hierarchy in which it is seen where it stands.

    The present state is lit, the states in which callers wait and their calls are in a weaker tint. Everything else
    is the same, and in the same place, in all frames of one size.

    Args:
        hierarchy: The hierarchy: the root, and the machines that it calls.
        state: The hierarchy state; None lights nothing.
        width: The width of the picture, in pixels.
        height: The height of the picture, in pixels. The drawing is in the middle, as large as fits.
        options: The options of the drawing; the width is the largest of those that are tried.

    Raises:
        RewardMachineError: A side is not positive.
        TooLargeError: The hierarchy has too many states or edges for a picture.
    """
    if width < 1 or height < 1:
        raise RewardMachineError(f"a picture of {width} x {height} pixels shows nothing")
    check_size(hierarchy)
    return _frame(hierarchy, lights_at(state), width, height, options)


def frame_scale(hierarchy: Hierarchy, *, width: int, height: int, options: DrawingOptions = STANDARD) -> float:
    """The scale of a frame: pixels for each unit of the drawing; letters of labels are 12 units high.

    Args:
        hierarchy: The hierarchy.
        width: The width of the frame, in pixels.
        height: The height of the frame, in pixels.
        options: The options of the drawing; the width is the largest of those that are tried.
    """
    fitting = replace(options, width=_best_width(hierarchy, width / height, options))
    scene = compose(hierarchy, fitting, aspect=width / height)
    return min(width / scene.width, height / scene.height)


@lru_cache(maxsize=_REMEMBERED)
def _frame(hierarchy: Hierarchy, lights: Lights, width: int, height: int, options: DrawingOptions) -> bytes:
    fitting = replace(options, width=_best_width(hierarchy, width / height, options))
    return render_png_within(compose(hierarchy, fitting, lights=lights, aspect=width / height), width, height)


@lru_cache(maxsize=_REMEMBERED)
def _best_width(hierarchy: Hierarchy, aspect: float, options: DrawingOptions) -> float:
    """The width of page whose drawing is largest in a frame of this shape: a high frame needs a narrow page."""

    def shrinking(width: float) -> float:
        scene = compose(hierarchy, replace(options, width=width), aspect=aspect)
        return max(scene.width, scene.height * aspect)

    return min((options.width, *_WIDTHS), key=shrinking)
