"""The machines and colours that the options of a drawing select."""

from __future__ import annotations

from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.options import DrawingOptions
from rewardmachines.drawing.scene.palette import DARK, LIGHT, Palette

_PALETTES: Final = {"light": LIGHT, "dark": DARK}
_WHITE: Final = "#ffffff"


def shown_machines(hierarchy: Hierarchy, options: DrawingOptions) -> tuple[RewardMachine, ...]:
    """The root and all machines that it calls, or the one machine that is asked for.

    Raises:
        UnknownMachineError: There is no machine of that name.
    """
    return hierarchy.reachable() if options.machine is None else (hierarchy[options.machine],)


def palette_of(options: DrawingOptions) -> Palette:
    """The colours of the theme."""
    return _PALETTES[options.theme]


def machine_colors(hierarchy: Hierarchy, palette: Palette) -> dict[str, str]:
    """The colour of each machine by its name: the same whether it is drawn alone or with others."""
    names = dict.fromkeys(machine.name for machine in (*hierarchy.reachable(), *hierarchy.machines))
    return {name: palette.accent(index) for index, name in enumerate(names)}


def background_of(options: DrawingOptions) -> str | None:
    """The colour behind the panels; None if there is nothing."""
    match options.background:
        case "transparent":
            return None
        case "white":
            return _WHITE
        case "tinted":
            return palette_of(options).background
