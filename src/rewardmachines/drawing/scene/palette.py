"""Calm colours; each machine has its own, shared by its panel and by the edges that call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.drawing.layout.measures import Role
from rewardmachines.drawing.options import DrawingOptions
from rewardmachines.drawing.scene.shapes import Ink


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a theme. `present` is the state where a hierarchy stands, `waiting` are those of its callers."""

    background: str
    panel: Ink
    text: str
    edge: str
    states: Mapping[Role, Ink]
    present: Ink
    waiting: Ink
    accents: tuple[str, ...]

    def accent(self, index: int) -> str:
        """The colour of the machine that comes `index`th."""
        return self.accents[index % len(self.accents)]

    def tint(self, color: str, strength: float = 0.13) -> str:
        """The colour, thinned with that of the panels."""
        thin = zip(_channels(color), _channels(self.panel.fill), strict=True)
        return "#" + "".join(f"{round(ground - (ground - channel) * strength):02x}" for channel, ground in thin)


def _channels(color: str) -> tuple[int, ...]:
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))


LIGHT: Final = Palette(
    background="#f7f7f4",
    panel=Ink("#ffffff", "#d9dce3", 1.0),
    text="#2b3140",
    edge="#6a7385",
    states={
        Role.INNER: Ink("#f1f4f9", "#56617a", 1.4),
        Role.ACCEPTING: Ink("#e3f3e8", "#3a8a58", 1.4),
        Role.REJECTING: Ink("#fbe7e4", "#bf5548", 1.4),
    },
    present=Ink("#ffc531", "#8a5a00", 2.6),
    waiting=Ink("#fff0c4", "#b98a2e", 1.8),
    accents=("#3f5a86", "#1f7f86", "#a8621d", "#8a4f93", "#5c7d2c", "#b24a68", "#3b7bb0", "#86664c"),
)

DARK: Final = Palette(
    background="#16191f",
    panel=Ink("#1f232b", "#3a404c", 1.0),
    text="#e4e7ee",
    edge="#98a2b5",
    states={
        Role.INNER: Ink("#2b313d", "#a3aec2", 1.4),
        Role.ACCEPTING: Ink("#1f3a2a", "#6cc48c", 1.4),
        Role.REJECTING: Ink("#432523", "#e88a7d", 1.4),
    },
    present=Ink("#b57a00", "#ffd773", 2.6),
    waiting=Ink("#4a3a17", "#d6ab55", 1.8),
    accents=("#93b1e6", "#5cc5cc", "#e0a264", "#cf9ad8", "#a5c96f", "#ee93ac", "#82bdf0", "#c9a98c"),
)


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
