"""The common look of all charts of returns: colours, axes, panels, and how figures are saved."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Sequence
from enum import Enum
from io import BytesIO
from math import ceil, sqrt
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside

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


Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
"""An array of floating-point numbers."""

COLOURS: Final = ("#1864ab", "#d9480f", "#2b8a3e", "#862e9c", "#c92a2a", "#0b7285", "#5c940d", "#495057")
"""The colours of curves, in the order in which they are used."""
INK: Final = "#212529"
"""The colour of titles and of the most important lines."""
SOFT: Final = "#495057"
"""The colour of axis labels and of less important lines."""
FRAME: Final = "#adb5bd"
"""The colour of axes."""
RULE: Final = "#e9ecef"
"""The colour of grid lines."""
COLUMNS: Final = 4
"""The largest number of panels side by side."""
LEGEND: Final[dict[str, Any]] = {"frameon": False, "fontsize": 8.5, "labelcolor": SOFT}
"""The look of legends."""
_UNDATED: Final[dict[str, dict[str, Any] | None]] = {
    "png": None,
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""The formats of figures, each with what keeps the date out of the file."""


class Background(Enum):
    """The background of a figure."""

    WHITE = "white"
    TRANSPARENT = "transparent"


def new_figure(width: float, height: float) -> Figure:
    """Makes an empty figure that can be drawn without a display.

    Args:
        width: Its width in inches.
        height: Its height in inches.
    """
    figure = Figure(figsize=(width, height), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


class Panels(NamedTuple):
    """A figure with a panel for each task."""

    figure: Figure
    axes: list[Any]
    """The panels, row by row."""
    columns: int
    """The number of panels side by side."""
    free: list[Any]
    """The places of the last row that have no panel."""

    def add_legend(self, handles: Sequence[Any], *, has_title: bool = False) -> None:
        """Explains marks and curves in a place that is free, or else above all panels.

        Args:
            handles: The marks, which have labels.
            has_title: Whether there is a title above all panels, so that the legend must be beside them.
        """
        if self.free:
            self.free[0].legend(handles=handles, loc="center left", **LEGEND)
        elif has_title:
            self.figure.legend(handles=handles, loc="outside right upper", **LEGEND)
        else:
            self.figure.legend(handles=handles, loc="outside upper center", ncols=4, **LEGEND)


def panels(names: Sequence[str], around: float) -> Panels:
    """Makes a figure with a panel of returns for each task. All have the same axes.

    Args:
        names: The names of the tasks, which are the titles of their panels.
        around: The height of what is above and below all panels, in inches.
    """
    columns = min(COLUMNS, ceil(sqrt(len(names))))
    rows = ceil(len(names) / columns)
    figure = new_figure(max(2.6 * columns, 4.6) + 0.4, 1.75 * rows + around)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten().tolist()
    for number, (axes, name) in enumerate(zip(grid, names, strict=False)):
        dress(axes)
        axes.set_ylim(-0.04, 1.06)
        axes.set_yticks([0, 0.5, 1])
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.tick_params(labelsize=7.5, labelbottom=number + columns >= len(names))
        axes.set_title(verbatim(name), loc="left", fontsize=9.5, fontweight="bold", color=INK, pad=4)
    for axes in grid[len(names) :]:
        axes.set_axis_off()
    figure.supylabel("mean greedy return", fontsize=9.5, color=SOFT)
    return Panels(figure, grid[: len(names)], columns, grid[len(names) :])


def dress(axes: Any) -> None:
    """Prepares axes for greedy returns, which lie between 0 and 1, with as few lines beside the curves as possible."""
    axes.set_ylim(-0.02, 1.02)
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    axes.grid(axis="y", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=SOFT, length=3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FRAME)


def short(value: float) -> str:
    """Writes a number as short as the tick of an axis needs it.

    >>> short(1_500_000)
    '1.5M'
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def verbatim(text: str) -> str:
    """Escapes a name, so that Matplotlib takes no part of it for a mathematical formula."""
    return text.replace("$", r"\$")


def save_figure(
    figure: Figure, path: Path, *, background: Background = Background.WHITE, suits_both: bool = False
) -> None:
    """Writes a figure to a file. Equal figures give equal files.

    Args:
        figure: The figure.
        path: The file; its suffix says whether it is a PNG, an SVG or a PDF, and a PNG is written without one.
        background: The background of the figure.
        suits_both: Whether an SVG has other colours in dark mode.

    Raises:
        RewardMachineError: Figures cannot be written in that format.
    """
    file_format = path.suffix.removeprefix(".").lower() or "png"
    if file_format not in _UNDATED:
        raise RewardMachineError(f"{path}: curves are written as .png, .svg or .pdf")
    image = BytesIO()
    with rc_context({"svg.hashsalt": "rewardmachines"}):
        figure.savefig(
            image,
            format=file_format,
            metadata=_UNDATED[file_format],
            transparent=background is Background.TRANSPARENT,
        )
    written = image.getvalue()
    write_aside(path, suit_both(written.decode()) if suits_both and file_format == "svg" else written)


def save_for_page(figure: Figure, path: Path) -> None:
    """Writes a figure of a report as a PNG and as an SVG that suits light and dark pages.

    Args:
        figure: The figure.
        path: The path of both files, without their suffixes.
    """
    for suffix in (".png", ".svg"):
        save_figure(figure, path.with_name(f"{path.name}{suffix}"), suits_both=True)
        figure.set_layout_engine("none")  # what was laid out stays; doing it again takes as long as all drawing


def moving_mean(values: Numbers, window: int) -> Numbers:
    """The moving mean of values, some of which may be NaN.

    Args:
        values: The values, in their order.
        window: The number of values in a mean: one value and those before it, or fewer where there are fewer.

    Returns:
        The mean that ends at each value. A NaN stays one, and does not count in other means.
    """
    known = ~np.isnan(values)
    sums = np.cumsum(np.where(known, values, 0.0))
    counts = np.cumsum(known)
    sums[window:], counts[window:] = sums[window:] - sums[:-window], counts[window:] - counts[:-window]
    return np.where(known, sums / np.maximum(counts, 1), np.nan)
