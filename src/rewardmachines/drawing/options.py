"""The options of a drawing: its content and its looks, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from rewardmachines.core.errors import RewardMachineError

Direction: TypeAlias = Literal["auto", "right", "down"]
Theme: TypeAlias = Literal["light", "dark"]
Background: TypeAlias = Literal["tinted", "white", "transparent"]

MIN_WIDTH: Final = 100.0


@dataclass(frozen=True, slots=True)
class DrawingOptions:
    """The options of the builtin engine.

    Attributes:
        direction: The direction of edges: to the right or down. "auto" is to the right, and down for a machine that is
            too wide for the page and fits better so.
        width: The width of the page, in units of which a letter of a label is 12 high. A machine that leads to the
            right and is wider is broken into rows, like lines of text.
        theme: Dark letters on light panels, or the other way round.
        background: Behind the panels: a tint that suits the theme, white, or nothing.
        machine: The name of the only machine that is drawn; None draws the root and all that it calls.
        titles: Whether the names of machines are shown.
        frames: Whether every machine has a panel with a frame.
    """

    direction: Direction = "auto"
    width: float = 1100.0
    theme: Theme = "light"
    background: Background = "tinted"
    machine: str | None = None
    titles: bool = True
    frames: bool = True

    def __post_init__(self) -> None:
        _check("direction", self.direction, get_args(Direction))
        _check("theme", self.theme, get_args(Theme))
        _check("background", self.background, get_args(Background))
        if not self.width >= MIN_WIDTH:
            raise RewardMachineError(f"a page must be at least {MIN_WIDTH:g} units wide, not {self.width:g}")


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        names = ", ".join(f"'{word}'" for word in known)
        raise RewardMachineError(f"there is no {name} '{value}': choose one of {names}")


STANDARD: Final = DrawingOptions()
"""The options of a drawing if none are given."""
