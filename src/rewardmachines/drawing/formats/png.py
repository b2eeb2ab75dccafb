"""A scene as PNG, through matplotlib's Agg canvas. Only here is matplotlib imported, and only when a PNG is drawn."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Final

from rewardmachines.drawing.layout.widths import text_width
from rewardmachines.drawing.scene.shapes import Arrow, Circle, Ink, Polygon, RoundedBox, Scene, Shape, Span, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

MAX_SIDE: Final = 30_000
MAX_PIXELS: Final = 60_000_000
"""Larger pictures are drawn at a smaller scale."""

_FONT: Final = "DejaVu Sans"
_POINTS_PER_INCH: Final = 72


def render_png(scene: Scene, scale: float) -> bytes:
    """One unit of the scene becomes `scale` pixels."""
    scale = min(scale, MAX_SIDE / max(scene.width, scene.height), math.sqrt(MAX_PIXELS / (scene.width * scene.height)))
    return _paint(scene, scale, scene.width, scene.height)


def render_png_within(scene: Scene, width: int, height: int) -> bytes:
    """A picture of exactly so many pixels, with the scene in its middle, as large as fits."""
    scale = min(width / scene.width, height / scene.height)
    return _paint(scene, scale, width / scale, height / scale)


def _paint(scene: Scene, scale: float, width: float, height: float) -> bytes:
    """The scene in the middle of a page that is `width` and `height` units of it large."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (width / _POINTS_PER_INCH, height / _POINTS_PER_INCH)
    figure = Figure(figsize=size, dpi=_POINTS_PER_INCH * scale)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    left, top = (scene.width - width) / 2, (scene.height - height) / 2
    axes.set_xlim(left, left + width)
    axes.set_ylim(top + height, top)
    brush = _Brush(axes)
    for group in scene.groups:
        for shape in group.shapes:
            brush.draw(shape)
    file = io.BytesIO()
    figure.savefig(file, format="png", facecolor=scene.background or "none")
    return file.getvalue()


class _Brush:
    """Draws each shape on top of those before it."""

    def __init__(self, axes: Axes) -> None:
        from matplotlib.font_manager import FontProperties, findfont, get_font

        self._axes = axes
        self._depth = 0
        self._fonts = {
            bold: FontProperties(family=_FONT, weight="bold" if bold else "normal") for bold in (False, True)
        }
        self._known = {bold: get_font(findfont(font)).get_charmap() for bold, font in self._fonts.items()}

    def draw(self, shape: Shape) -> None:
        from matplotlib import patches

        self._depth += 1
        match shape:
            case Circle():
                self._add(patches.Circle(shape.middle, shape.radius), shape.ink)
            case RoundedBox():
                self._add(_rounded(shape), shape.ink)
            case Polygon():
                self._add(patches.Polygon(shape.points, closed=True), shape.ink)
            case Arrow():
                self._arrow(shape)
            case Text():
                self._text(shape)

    def _add(self, patch: Patch, ink: Ink) -> None:
        patch.set(facecolor=ink.fill, edgecolor=ink.stroke or "none", linewidth=ink.width, zorder=self._depth)
        patch.set(joinstyle="round", capstyle="round", snap=False)
        self._axes.add_artist(patch)

    def _arrow(self, arrow: Arrow) -> None:
        from matplotlib import patches
        from matplotlib.path import Path

        points = [arrow.curve.start, *(point for bend in arrow.curve.bends for point in bend)]
        codes = [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)]
        self._add(patches.PathPatch(Path(points, codes)), Ink("none", arrow.color, arrow.width))
        self._add(patches.Polygon(arrow.head, closed=True), Ink(arrow.color))

    def _text(self, text: Text) -> None:
        x, y = text.start
        for span in text.spans:
            self._axes.text(
                x,
                y,
                self._drawable(span),
                color=span.color,
                fontproperties=self._fonts[span.bold],
                fontsize=text.size,
                verticalalignment="baseline",
                parse_math=False,
                usetex=False,
                zorder=self._depth,
            )
            x += text_width(span.text, text.size, bold=span.bold)

    def _drawable(self, span: Span) -> str:
        """The text, with a replacement for the characters that the font does not have."""
        return "".join(c if ord(c) in self._known[span.bold] else "�" for c in span.text)


def _rounded(shape: RoundedBox) -> Patch:
    from matplotlib.patches import BoxStyle, FancyBboxPatch

    box, radius = shape.box, min(shape.radius, shape.box.width / 2, shape.box.height / 2)
    return FancyBboxPatch((box.left, box.top), box.width, box.height, BoxStyle.Round(pad=0, rounding_size=radius))
