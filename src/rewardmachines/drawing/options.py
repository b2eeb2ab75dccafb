"""What a drawing shows and how it looks, whatever it is written as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from rewardmachines.core.errors import RewardMachineError

Theme: TypeAlias = Literal["light", "dark"]
Background: TypeAlias = Literal["tinted", "white", "transparent"]


@dataclass(frozen=True, slots=True)
class DrawingOptions:
    """How a hierarchy is drawn by the builtin engine.

    Attributes:
        theme: Dark letters on light panels, or the other way round.
        background: Behind the panels: a tint that suits the theme, white, or nothing.
    """

    theme: Theme = "light"
    background: Background = "tinted"

    def __post_init__(self) -> None:
        _check("theme", self.theme, get_args(Theme))
        _check("background", self.background, get_args(Background))


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        names = ", ".join(f"'{word}'" for word in known)
        raise RewardMachineError(f"there is no {name} '{value}': choose one of {names}")


STANDARD: Final = DrawingOptions()
"""How a hierarchy is drawn if nothing else is asked for."""
