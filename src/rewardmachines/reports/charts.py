"""What charts of returns look like, whoever draws them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

COLOURS: Final = ("#1864ab", "#d9480f", "#2b8a3e", "#862e9c", "#c92a2a", "#0b7285", "#5c940d", "#495057")
INK: Final = "#212529"
SOFT: Final = "#495057"
FRAME: Final = "#adb5bd"
RULE: Final = "#e9ecef"


def new_figure(width: float, height: float) -> Figure:
    """In inches; it needs no display."""
    figure = Figure(figsize=(width, height), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def dress(axes: Any) -> None:
    """Greedy returns lie between 0 and 1; little else is drawn than the curves."""
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
    """For ticks.

    >>> short(1_500_000)
    '1.5M'
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def verbatim(text: str) -> str:
    """A name in which nothing is taken for mathematics."""
    return text.replace("$", r"\$")


def save_figure(figure: Figure, path: Path) -> None:
    """Writes a PNG, or what else the name of the file asks for; the same figure makes the same file."""
    written = BytesIO()
    form = path.suffix.removeprefix(".") or "png"
    try:
        with rc_context({"svg.hashsalt": "rewardmachines"}):
            figure.savefig(written, format=form, metadata={"Date": None} if form == "svg" else None)
    except ValueError:
        raise RewardMachineError(f"{path}: curves are written as .png, .svg or .pdf") from None
    write_aside(path, written.getvalue())
