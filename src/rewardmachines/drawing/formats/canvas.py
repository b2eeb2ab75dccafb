"""Scenes as PNG and PDF, on matplotlib's canvas. Only here is matplotlib imported, and only when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rewardmachines.drawing.layout.measures import text_width
from rewardmachines.drawing.scene.shapes import Arrow, Circle, Ink, Polygon, RoundedBox, Scene, Shape, Span, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
import io
import math

FONT: Final = "DejaVu Sans"
_POINTS_PER_INCH: Final = 72


def paint(scene: Scene, width: float, height: float, *, pixels: float = 1.0, points: float = 1.0) -> Figure:
    """The scene in the middle of a page.

    Args:
        scene: The scene.
        width: The width of the page, in units of the scene.
        height: The height of the page, in units of the scene.
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


MAX_SIDE: Final = 30_000
MAX_PIXELS: Final = 60_000_000
"""Larger pictures are drawn at a smaller scale."""


def render_png(scene: Scene, scale: float) -> bytes:
    """One unit of the scene becomes `scale` pixels."""
    scale = min(scale, MAX_SIDE / max(scene.width, scene.height), math.sqrt(MAX_PIXELS / (scene.width * scene.height)))
    return _png(scene, scene.width, scene.height, scale)


def render_png_within(scene: Scene, width: int, height: int) -> bytes:
    """A picture of exactly `width` by `height` pixels, with the scene in its middle, as large as fits."""
    scale = min(width / scene.width, height / scene.height)
    return _png(scene, width / scale, height / scale, scale)


def _png(scene: Scene, width: float, height: float, scale: float) -> bytes:
    from matplotlib import rc_context

    figure = paint(scene, width, height, pixels=scale)
    file = io.BytesIO()
    # Letters that are moved to whole pixels would make small texts wider than their boxes.
    with rc_context({"text.hinting": "none"}):
        figure.savefig(file, format="png")
    return file.getvalue()


POINTS_PER_UNIT: Final = 0.75
"""An SVG's unit is a 96th of an inch; so the PDF is as large on paper, and its labels have letters of 9 points."""

_TRUETYPE: Final = 42
"""Publishers do not accept matplotlib's own default, Type 3."""


def render_pdf(scene: Scene) -> bytes:
    """A page as large as the scene; text is text, in an embedded font. The same scene gives the same bytes."""
    from matplotlib import rc_context

    figure = paint(scene, scene.width, scene.height, points=POINTS_PER_UNIT)
    file = io.BytesIO()
    with rc_context({"pdf.fonttype": _TRUETYPE}):
        # A date would make every file another one.
        figure.savefig(file, format="pdf", metadata={"Title": scene.title, "CreationDate": None})
    return file.getvalue()
