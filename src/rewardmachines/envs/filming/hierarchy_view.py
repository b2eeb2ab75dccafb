"""The hierarchy beside the world: all of it where its letters can be read, or else the machines on the call stack."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from io import BytesIO
from typing import Final, Protocol

import numpy as np
from PIL import Image, ImageDraw

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState
from rewardmachines.drawing import DrawingOptions, draw_frame
from rewardmachines.drawing.drawings import check_size
from rewardmachines.drawing.frames import frame_scale
from rewardmachines.drawing.options import STANDARD
from rewardmachines.drawing.scene.compose import compose
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming.caption import font, shortened
from rewardmachines.envs.hierarchy_text import stack_lines

WIDTHS: Final = (360, 440, 520, 600)
"""The largest width of the view in pixels: no wider than the drawing needs."""
HIGHEST: Final = 600
"""The height of a view of machines that would be too small beside the world."""
COMFORTABLE: Final = 0.9
"""The largest scale that is of use: a larger view reads no better."""
READABLE: Final = 0.72
"""The smallest scale at which the letters of a drawing are read with ease, of a whole hierarchy."""
TIGHT: Final = 0.6
"""Machines on the call stack that would be drawn at a smaller scale get a higher view."""
SMALLEST: Final = 0.45
"""The smallest scale at which machines on the call stack are drawn; below it, the view is text."""
LARGEST: Final = 1.15
"""The largest scale: small machines are not blown up."""
_PAGES: Final = (WIDTHS[-1] / READABLE, 650.0, 520.0, 420.0)
"""The widths of page that are tried, in units of the drawing: on a narrow one, machines go on in further rows."""
PAPER: Final = (247, 247, 244)
"""The colour of the background, as in drawings."""
_INK: Final = (43, 49, 64)
_MARGIN: Final = 14
_LEADING: Final = 20


class HierarchyView(Protocol):
    """Pictures of one size, for every state of a hierarchy."""

    @property
    def height(self) -> int:
        """The height of the pictures, in pixels."""

    def at(self, state: HierarchyState) -> Pixels:
        """The hierarchy when it stands there. Equal states give the same picture, which is drawn once."""


def hierarchy_view(hierarchy: Hierarchy, states: Sequence[HierarchyState], height: int) -> HierarchyView:
    """Chooses what is shown of a hierarchy in a film.

    Args:
        hierarchy: The hierarchy.
        states: All states that will be shown.
        height: The least height of the view, in pixels.
    """
    try:
        check_size(hierarchy)
    except TooLargeError:
        return StateText(height)
    if (whole := _whole(hierarchy, height)) is not None:
        return whole
    stack = StackOfMachines(hierarchy, states, height)
    if stack.scale < TIGHT:  # more room for large machines, with an empty place below the world
        stack = StackOfMachines(hierarchy, states, max(height, HIGHEST))
    return stack if stack.scale >= SMALLEST else StateText(height)


def _whole(hierarchy: Hierarchy, height: int) -> WholeHierarchy | None:
    """A view of the whole hierarchy, no wider than it needs; None if its letters could not be read with ease."""
    for width in WIDTHS:
        size = _size(hierarchy, DrawingOptions(), width / height)
        if _scale(size, width, height) >= (READABLE if width == WIDTHS[-1] else COMFORTABLE):
            return WholeHierarchy(hierarchy, size, width, height)
    # Machines may go on in further rows, as a last resort.
    scale = frame_scale(hierarchy, width=width, height=height)
    size = width / scale, height / scale
    return WholeHierarchy(hierarchy, size, width, height) if scale >= READABLE else None


def _size(hierarchy: Hierarchy, options: DrawingOptions, aspect: float = 1.0) -> tuple[float, float]:
    """The width and the height of a drawing, in its own units."""
    scene = compose(hierarchy, options, aspect=aspect)
    return scene.width, scene.height


def _scale(size: tuple[float, float], width: float, height: float) -> float:
    """The scale at which a drawing of this size fills a view."""
    return min(LARGEST, width / size[0], height / size[1])


class WholeHierarchy:
    """All machines, with the present state and the callers that wait lit."""

    def __init__(self, hierarchy: Hierarchy, size: tuple[float, float], width: int, height: int) -> None:
        self._hierarchy, self._width, self.height = hierarchy, width, height
        scale = _scale(size, width, height)
        self._inner = min(width, round(size[0] * scale)), min(height, round(size[1] * scale))
        self.at = cache(self._at)

    def _at(self, state: HierarchyState) -> Pixels:
        width, height = self._inner
        left, top = (self._width - width) // 2, (self.height - height) // 2
        view = _paper(self._width, self.height)
        drawn = _pixels(draw_frame(self._hierarchy, state, width=width, height=height))
        view[top : top + height, left : left + width] = drawn
        return view


class StackOfMachines:
    """The machines on the call stack, from the root downwards, each always in the same size and scale."""

    def __init__(self, hierarchy: Hierarchy, states: Sequence[HierarchyState], height: int) -> None:
        self._hierarchy, self.height, width = hierarchy, height, WIDTHS[-1]
        stacks = {_stack(state) for state in states}
        names = {name for stack in stacks for name in stack}
        self._sizes = {name: _machine_size(hierarchy, name, width) for name in names}
        highest = max(sum(self._sizes[name][1] for name in stack) for stack in stacks)
        widest = max(size[0] for size in self._sizes.values())
        self.scale = min(LARGEST, width / widest, height / highest)
        self._width = max(WIDTHS[0], min(width, round(widest * self.scale)))
        self.at = cache(self._at)

    def _at(self, state: HierarchyState) -> Pixels:
        view, top = _paper(self._width, self.height), 0
        for name in _stack(state):
            height = int(self._sizes[name][1] * self.scale)
            view[top : top + height] = self._panel(state, name, height)
            top += height
        return view

    def _panel(self, state: HierarchyState, name: str, height: int) -> Pixels:
        options = DrawingOptions(machine=name)
        return _pixels(draw_frame(self._hierarchy, state, width=self._width, height=height, options=options))


def _machine_size(hierarchy: Hierarchy, name: str, width: int) -> tuple[float, float]:
    """The size of one machine, in units of the drawing; in several rows, if it would be too small in one."""
    sizes = [_size(hierarchy, DrawingOptions(machine=name, width=page)) for page in (STANDARD.width, *_PAGES)]
    return next((size for size in sizes if width / size[0] >= READABLE), sizes[-1])


class StateText:
    """Hierarchy states as text: for machines that are too large to be drawn."""

    def __init__(self, height: int) -> None:
        self._width, self.height = WIDTHS[0], height
        self.at = cache(self._at)

    def _at(self, state: HierarchyState) -> Pixels:
        image = Image.fromarray(_paper(self._width, self.height))
        draw = ImageDraw.Draw(image)
        for number, line in enumerate(["hierarchy", *stack_lines(state)]):
            text = shortened(line, self._width - 2 * _MARGIN)
            draw.text((_MARGIN, _MARGIN + number * _LEADING), text, font=font(bold=number == 0), fill=_INK)
        return np.asarray(image)


def _stack(state: HierarchyState) -> tuple[str, ...]:
    """The machines on the call stack, the root first."""
    return (*(call.caller for call in state.stack), state.machine)


def _paper(width: int, height: int) -> Pixels:
    return np.full((height, width, 3), PAPER, np.uint8)


def _pixels(png: bytes) -> Pixels:
    return np.asarray(Image.open(BytesIO(png)).convert("RGB"))
