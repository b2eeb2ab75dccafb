"""Shapes on matplotlib's canvas. Only here is matplotlib imported, and only when a PNG or a PDF is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rewardmachines.drawing.layout.widths import text_width
from rewardmachines.drawing.scene.shapes import Arrow, Circle, Ink, Polygon, RoundedBox, Scene, Shape, Span, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

FONT: Final = "DejaVu Sans"
_POINTS_PER_INCH: Final = 72


def paint(scene: Scene, width: float, height: float, *, pixels: float = 1.0, points: float = 1.0) -> Figure:
    """The scene in the middle of a page.

    Args:
        scene: What is drawn.
        width: Of the page, in units of the scene.
        height: Of the page, in units of the scene.
        pixels: For each unit of the scene, where the page becomes pixels.
        points: For each unit of the scene, where the page becomes paper.
    """
    from matplotlib.figure import Figure

    inches = points / _POINTS_PER_INCH
    figure = Figure(figsize=(width * inches, height * inches), dpi=pixels / inches)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    left, top = (scene.width - width) / 2, (scene.height - height) / 2
    axes.set_xlim(left, left + width)
    axes.set_ylim(top + height, top)
    brush = _Brush(axes, points)
    for group in scene.groups:
        for shape in group.shapes:
            brush.draw(shape)
    figure.set_facecolor(scene.background or "none")
    return figure


class _Brush:
    """Draws each shape on top of those before it."""

    def __init__(self, axes: Axes, points: float) -> None:
        from matplotlib.font_manager import FontProperties, findfont, get_font

        self._axes = axes
        self._points = points
        self._depth = 0
        self._fonts = {bold: FontProperties(family=FONT, weight="bold" if bold else "normal") for bold in (False, True)}
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
        patch.set(
            facecolor=ink.fill, edgecolor=ink.stroke or "none", linewidth=ink.width * self._points, zorder=self._depth
        )
        patch.set(joinstyle="round", capstyle="round", snap=False)
        self._axes.add_artist(patch)

    def _arrow(self, arrow: Arrow) -> None:
        from matplotlib import patches
        from matplotlib.path import Path

        points = [arrow.curve.start, *(point for bend in arrow.curve.bends for point in bend)]
        codes = [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)]
        self._add(patches.PathPatch(Path(points, codes)), Ink("none", arrow.color, arrow.width))
        if arrow.has_head:
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
                fontsize=text.size * self._points,
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
