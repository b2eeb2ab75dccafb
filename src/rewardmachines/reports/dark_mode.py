"""SVG that suits a light and a dark page: every colour gets a counterpart that a dark page shows in its place."""

from __future__ import annotations

import colorsys
import re
from typing import Final

DARKEST: Final = 0.13
"""The lightness of what is white on a light page; that of cards in the style sheet."""
LIGHTEST: Final = 0.93
"""The lightness of what is black on a light page."""
_READABLE: Final = 4.5
"""The contrast from which text can be read well, as the guidelines of the web (WCAG) have it."""
_STEP: Final = 0.01
_COLOUR: Final = re.compile(r"#[0-9a-f]{6}\b")
_OPENING: Final = re.compile(r"<svg\b[^>]*>")

Channels = tuple[float, float, float]


def suit_both(svg: str) -> str:
    """Adds a style sheet to an SVG, by which it is drawn in other colours in dark mode.

    Elsewhere, and in programs that know no style sheets, it looks as before.

    Args:
        svg: An SVG whose colours are written as `#rrggbb`, as attributes or as styles of elements.
    """
    rules = [_rule(colour) for colour in sorted(set(_COLOUR.findall(svg)))]
    sheet = f"<style>@media (prefers-color-scheme: dark) {{\n{''.join(rules)}}}</style>"
    return _OPENING.sub(lambda opening: opening.group() + sheet, svg, count=1)


def _rule(colour: str) -> str:
    """The change of a colour in dark mode, wherever it is a fill or an outline."""
    dark = counterpart(colour)
    lines = (
        f'[{kind}="{colour}"], [style*="{kind}: {colour}"] {{ {kind}: {dark} !important }}\n'
        for kind in ("fill", "stroke")
    )
    return "".join(lines)


def counterpart(colour: str) -> str:
    """The colour that a dark page shows in place of one: of the same hue, and light where that one is dark.

    What can be read on white can be read on its counterpart.

    >>> counterpart("#ffffff"), counterpart("#000000")
    ('#212121', '#ededed')
    """
    channels = _channels(colour)
    hue, lightness, _ = colorsys.rgb_to_hls(*channels)
    strength = max(channels) - min(channels)
    wanted = min(_READABLE, contrast(colour, "#ffffff"))
    behind = _hex((DARKEST,) * 3)
    lightness = LIGHTEST - (LIGHTEST - DARKEST) * lightness
    while contrast(shown := _shade(hue, lightness, strength), behind) < wanted and lightness < 1:
        lightness = min(1.0, lightness + _STEP)
    return shown


def _shade(hue: float, lightness: float, strength: float) -> str:
    """A colour whose channels are so far apart, as far as its lightness allows: pale colours stay pale in the dark."""
    widest = 1 - abs(2 * lightness - 1)
    return _hex(colorsys.hls_to_rgb(hue, lightness, min(1.0, strength / widest) if widest else 0.0))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21, as the guidelines of the web (WCAG) define it."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour))
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _channels(colour: str) -> Channels:
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def _hex(channels: Channels) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)
