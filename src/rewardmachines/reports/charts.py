"""The common look of all charts of returns: colours, axes, tick labels, and how figures are saved."""

from __future__ import annotations

from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside
from rewardmachines.reports.dark_mode import suit_both

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
_UNDATED: Final[dict[str, dict[str, Any] | None]] = {
    "png": None,
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""The formats of figures, each with what keeps the date out of the file."""


class Background(Enum):
    """What is behind a figure."""

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
        background: What is behind the figure.
        suits_both: Whether an SVG has other colours where people prefer dark pages.

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
