"""A scene as SVG."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from rewardmachines.drawing.layout.geometry import BezierPath, Point
from rewardmachines.drawing.scene.shapes import Arrow, Circle, Group, Ink, Polygon, RoundedBox, Scene, Shape, Span, Text

FONT = "'DejaVu Sans', sans-serif"


def render_svg(scene: Scene) -> str:
    """The scene as an SVG document."""
    width, height = _number(scene.width), _number(scene.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="{FONT}" stroke-linecap="round" stroke-linejoin="round">',
        f"<title>{escape(scene.title)}</title>",
    ]
    if scene.background:
        lines.append(f'<rect width="{width}" height="{height}" fill="{scene.background}"/>')
    for group in scene.groups:
        lines += _group(group)
    return "\n".join([*lines, "</svg>", ""])


def _group(group: Group) -> Iterable[str]:
    title = [f"<title>{escape(group.tooltip)}</title>"] if group.tooltip else []
    return ["<g>", *title, *(_element(shape) for shape in group.shapes), "</g>"]


def _element(shape: Shape) -> str:
    match shape:
        case Circle():
            return _circle(shape)
        case RoundedBox():
            return _rounded_box(shape)
        case Polygon():
            return _polygon(shape.points, shape.ink)
        case Arrow():
            return _arrow(shape)
        case Text():
            return _text(shape)


def _circle(circle: Circle) -> str:
    x, y = map(_number, circle.middle)
    return f'<circle cx="{x}" cy="{y}" r="{_number(circle.radius)}" {_ink(circle.ink)}/>'


def _rounded_box(rounded: RoundedBox) -> str:
    left, top, width, height, radius = map(
        _number, (rounded.box.left, rounded.box.top, rounded.box.width, rounded.box.height, rounded.radius)
    )
    return f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="{radius}" {_ink(rounded.ink)}/>'


def _polygon(points: Iterable[Point], ink: Ink) -> str:
    return f'<polygon points="{_points(points)}" {_ink(ink)}/>'


def _arrow(arrow: Arrow) -> str:
    line = f'<path d="{_path(arrow.curve)}" fill="none" stroke="{arrow.color}" stroke-width="{_number(arrow.width)}"/>'
    return line + _polygon(arrow.head, Ink(arrow.color)) if arrow.has_head else line


def _text(text: Text) -> str:
    x, y = map(_number, text.start)
    spans = "".join(map(_span, text.spans))
    return f'<text x="{x}" y="{y}" font-size="{_number(text.size)}" xml:space="preserve">{spans}</text>'


def _span(span: Span) -> str:
    weight = ' font-weight="bold"' if span.bold else ""
    return f"<tspan fill={quoteattr(span.color)}{weight}>{escape(span.text)}</tspan>"


def _ink(ink: Ink) -> str:
    outline = f' stroke="{ink.stroke}" stroke-width="{_number(ink.width)}"' if ink.stroke else ""
    return f'fill="{ink.fill}"{outline}'


def _path(curve: BezierPath) -> str:
    return f"M{_points([curve.start])}" + "".join(f"C{_points(bend)}" for bend in curve.bends)


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{_number(point.x)},{_number(point.y)}" for point in points)


def _number(value: float) -> str:
    """Tenths are enough, and the same everywhere."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
