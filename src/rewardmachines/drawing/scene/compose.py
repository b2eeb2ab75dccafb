"""A hierarchy as a scene: a panel for each machine, and what its layout says, in colours."""

from __future__ import annotations

from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.drawing.layout.machine_layout import lay_out
from rewardmachines.drawing.options import STANDARD, DrawingOptions
from rewardmachines.drawing.scene.content import background_of, machine_colors, palette_of, shown_machines
from rewardmachines.drawing.scene.lights import NO_LIGHTS, Lights
from rewardmachines.drawing.scene.machine_shapes import Look
from rewardmachines.drawing.scene.panel import Panel, padding
from rewardmachines.drawing.scene.panels import ASPECT, GAP, Area, arrange
from rewardmachines.drawing.scene.shapes import Group, Scene
from rewardmachines.drawing.symbols import printable

_MARGIN: Final = 4.0
"""Around the page, where panels have no frames."""


def compose(
    hierarchy: Hierarchy,
    options: DrawingOptions = STANDARD,
    *,
    lights: Lights = NO_LIGHTS,
    aspect: float = ASPECT,
) -> Scene:
    """The scene of the root and all machines that it calls, or of one machine.

    Args:
        hierarchy: What is drawn.
        options: What is shown of it and how it looks.
        lights: The states and calls that are lit.
        aspect: The width of the best page, divided by its height.

    Raises:
        UnknownMachineError: There is no machine of the name in the options.
    """
    palette = palette_of(options)
    colors = machine_colors(hierarchy, palette)
    look = Look(palette, colors, lights)
    margin = GAP if options.frames else _MARGIN
    page_width = options.width - 2 * margin
    inner_width = page_width - 2 * padding(options)
    panels = [
        Panel(machine, lay_out(machine, options.direction, inner_width), colors[machine.name], options)
        for machine in shown_machines(hierarchy, options)
    ]
    page = arrange([panel.size for panel in panels], aspect, page_width)
    groups: list[Group] = []
    for panel, area in zip(panels, page.areas, strict=True):
        groups += panel.draw(Area(area.x + margin, area.y + margin, area.width, area.height), look)
    title = printable(options.machine or hierarchy.root)
    width, height = page.width + 2 * margin, page.height + 2 * margin
    return Scene(title, width, height, background_of(options), tuple(groups))
