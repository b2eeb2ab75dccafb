"""Calm colours; each machine has its own, shared by its panel and by the edges that call it."""

from __future__ import annotations

from typing import Final

from rewardmachines.drawing.layout.measures import Role
from rewardmachines.drawing.scene.shapes import Ink

BACKGROUND: Final = "#f7f7f4"
PANEL: Final = Ink("#ffffff", "#d9dce3", 1.0)
TEXT: Final = "#2b3140"
EDGE: Final = "#6a7385"

STATES: Final = {
    Role.INNER: Ink("#f1f4f9", "#56617a", 1.4),
    Role.ACCEPTING: Ink("#e3f3e8", "#3a8a58", 1.4),
    Role.REJECTING: Ink("#fbe7e4", "#bf5548", 1.4),
}

_ACCENTS: Final = ("#3f5a86", "#1f7f86", "#a8621d", "#8a4f93", "#5c7d2c", "#b24a68", "#3b7bb0", "#86664c")


def accent(index: int) -> str:
    """The colour of the machine that comes `index`th."""
    return _ACCENTS[index % len(_ACCENTS)]


def tint(color: str, strength: float = 0.13) -> str:
    """The colour, thinned with white."""
    channels = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - channel) * strength):02x}" for channel in channels)
