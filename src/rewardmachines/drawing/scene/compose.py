"""A hierarchy as a scene: a panel for each machine, and what its layout says, in colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.geometry import Box, Point
from rewardmachines.drawing.layout.machine_layout import Layout, lay_out, moved
from rewardmachines.drawing.layout.widths import text_width
from rewardmachines.drawing.options import STANDARD, DrawingOptions
from rewardmachines.drawing.scene.lights import NO_LIGHTS, Lights
from rewardmachines.drawing.scene.machine_shapes import Look, baseline
from rewardmachines.drawing.scene.palette import DARK, LIGHT, Palette
from rewardmachines.drawing.scene.panels import ASPECT, GAP, Area, arrange
from rewardmachines.drawing.scene.shapes import Group, Ink, RoundedBox, Scene, Shape, Span, Text
from rewardmachines.drawing.symbols import printable, shorten

_TITLE_FONT: Final = 13.0
_TITLE_LENGTH: Final = 48
_TITLE_HEIGHT: Final = 24.0
_PADDING: Final = 18.0
_PALETTES: Final = {"light": LIGHT, "dark": DARK}
_WHITE: Final = "#ffffff"


@dataclass(frozen=True, slots=True)
class _Panel:
    machine: RewardMachine
    layout: Layout
    color: str

    @property
    def title(self) -> str:
        return shorten(printable(self.machine.name), _TITLE_LENGTH)

    @property
    def title_width(self) -> float:
        return text_width(self.title, _TITLE_FONT, bold=True) + 20

    @property
    def size(self) -> tuple[float, float]:
        width = max(self.layout.width, self.title_width) + 2 * _PADDING
        return width, self.layout.height + _TITLE_HEIGHT + 2.6 * _PADDING


def compose(
    hierarchy: Hierarchy,
    options: DrawingOptions = STANDARD,
    *,
    lights: Lights = NO_LIGHTS,
    aspect: float = ASPECT,
) -> Scene:
    """The scene of the root and all machines that it calls.

    Args:
        hierarchy: What is drawn.
        options: How it looks.
        lights: The states and calls that are lit.
        aspect: The width of the best page, divided by its height.
    """
    machines = hierarchy.reachable()
    palette = _PALETTES[options.theme]
    colors = {machine.name: palette.accent(index) for index, machine in enumerate(machines)}
    look = Look(palette, colors, lights)
    panels = [_Panel(machine, lay_out(machine), colors[machine.name]) for machine in machines]
    page = arrange([panel.size for panel in panels], aspect)
    groups: list[Group] = []
    for panel, area in zip(panels, page.areas, strict=True):
        groups += _draw_panel(panel, Area(area.x + GAP, area.y + GAP, area.width, area.height), look)
    width, height = page.width + 2 * GAP, page.height + 2 * GAP
    return Scene(printable(hierarchy.root), width, height, _background(palette, options), tuple(groups))


def _background(palette: Palette, options: DrawingOptions) -> str | None:
    match options.background:
        case "transparent":
            return None
        case "white":
            return _WHITE
        case _:
            return palette.background


def _draw_panel(panel: _Panel, area: Area, look: Look) -> list[Group]:
    frame = Box(Point(area.x + area.width / 2, area.y + area.height / 2), area.width, area.height)
    tab = Point(area.x + _PADDING * 0.7, area.y + _PADDING * 0.7)
    back = RoundedBox(frame, 10, look.palette.panel)
    title = Group((back, *_title(panel, tab, look.palette)), printable(panel.machine.name))
    # Contents are in the middle of what the title leaves free.
    top = area.y + _TITLE_HEIGHT + 1.3 * _PADDING
    free = area.y + area.height - _PADDING - top
    layout = moved(panel.layout, frame.middle.x - panel.layout.width / 2, top + (free - panel.layout.height) / 2)
    return [title, *look.draw(panel.machine.name, layout)]


def _title(panel: _Panel, corner: Point, palette: Palette) -> tuple[Shape, ...]:
    box = Box(corner.moved(panel.title_width / 2, _TITLE_HEIGHT / 2), panel.title_width, _TITLE_HEIGHT)
    name = Text(
        Point(box.left + 10, baseline(box.middle.y, _TITLE_FONT)),
        _TITLE_FONT,
        (Span(panel.title, panel.color, bold=True),),
    )
    return RoundedBox(box, 6, Ink(palette.tint(panel.color))), name
