"""What a drawing shows and how it looks: pages, themes, single machines, PDF, notebooks."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import initial_state
from rewardmachines.drawing import DrawingOptions, draw, to_dot, to_mermaid, to_pdf, to_png, to_svg
from rewardmachines.drawing.formats.canvas import POINTS_PER_UNIT
from rewardmachines.drawing.layout.machine_layout import lay_out
from rewardmachines.drawing.options import Direction
from rewardmachines.drawing.scene.compose import compose
from rewardmachines.drawing.scene.palette import DARK, LIGHT
from rewardmachines.drawing.scene.shapes import Arrow
from rewardmachines.library import find
from strategies import hierarchies

WIDEST_PAGE = DrawingOptions(width=10_000)


def texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("name", ["craftworld/cake", "craftworld/book-quill", "craftworld/map", "exponential/5"])
def test_deep_flat_machines_fit_the_page(name: str) -> None:
    flat = flatten(find(name))
    assert compose(flat, WIDEST_PAGE).width > 1500
    for direction in get_args(Direction):
        scene = compose(flat, DrawingOptions(direction=direction))
        assert scene.width <= 1100
        assert direction == "down" or scene.height <= 2000
    assert compose(flat, DrawingOptions(width=700)).width <= 1.2 * 700


def test_a_machine_leads_where_it_is_told_to() -> None:
    book = find("craftworld/book")["book"]
    across, down = lay_out(book, "right"), lay_out(book, "down")
    assert across.width > across.height
    assert down.height > down.width
    assert down.initial_arrow.start.x == down.initial_arrow.end.x
    assert lay_out(book, "auto", 1000.0) == across
    assert lay_out(book, "auto", 400.0) == down


def test_rows_start_below_each_other_and_keep_to_the_width() -> None:
    chain = flatten(find("exponential/4"))["M4"]
    rows = lay_out(chain, "right", 600.0)
    assert rows.width <= 600
    assert rows.turns >= 4
    assert rows.crowding == 0


@given(subject=hierarchies(deterministic=False))
@settings(max_examples=20, deadline=None)
def test_edges_have_a_gap_for_their_label_and_one_head(subject: Hierarchy) -> None:
    scene = compose(subject)
    between = sum(e.source != e.target and e.calls_leaf for one in subject.reachable() for e in one.edges)
    arrows = [shape for group in scene.groups for shape in group.shapes if isinstance(shape, Arrow)]
    assert sum(not arrow.has_head for arrow in arrows) == between


def test_themes_and_backgrounds_have_their_colours() -> None:
    book = find("craftworld/book")
    assert LIGHT.background in to_svg(book)
    dark = to_svg(book, options=DrawingOptions(theme="dark"))
    assert DARK.panel.fill in dark
    assert LIGHT.text not in dark
    nothing = to_svg(book, options=DrawingOptions(background="transparent"))
    assert LIGHT.background not in nothing
    assert to_dot(book, DrawingOptions(background="transparent")).count('bgcolor="transparent"') == 1


def test_one_machine_is_drawn_in_the_colour_that_it_has_among_others() -> None:
    book = find("craftworld/book")
    alone = to_svg(book, options=DrawingOptions(machine="paper"))
    assert "sugarcane" in texts(alone)
    assert "rabbit" not in texts(alone)
    color = re.search(r'<tspan fill="(#\w+)" font-weight="bold">paper<', to_svg(book))
    assert color
    assert color[1] in alone
    assert 'subgraph m0["paper"]' in to_mermaid(book, DrawingOptions(machine="paper", direction="down"))
    with pytest.raises(RewardMachineError, match="there is no machine 'papper'; did you mean 'paper'"):
        to_svg(book, options=DrawingOptions(machine="papper"))


def test_names_and_frames_can_be_left_out() -> None:
    plain = compose(find("craftworld/book"), DrawingOptions(titles=False, frames=False))
    assert "book" not in texts(to_svg(find("craftworld/book"), options=DrawingOptions(titles=False)))
    whole = compose(find("craftworld/book"))
    assert plain.width < whole.width
    assert plain.height < whole.height


@pytest.mark.parametrize("width", [0.0, -5.0, float("nan")])
def test_a_page_without_width_is_refused(width: float) -> None:
    with pytest.raises(RewardMachineError, match="at least 100 units wide"):
        DrawingOptions(width=width)


def test_a_pdf_is_as_large_as_the_svg_and_its_text_is_text() -> None:
    book = find("craftworld/book")
    pdf, scene = to_pdf(book), compose(book)
    assert pdf.startswith(b"%PDF-")
    assert pdf == to_pdf(book)
    box = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)", pdf)
    assert box
    assert float(box[1]) == pytest.approx(scene.width * POINTS_PER_UNIT, abs=0.1)
    assert float(box[2]) == pytest.approx(scene.height * POINTS_PER_UNIT, abs=0.1)
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert b"/Subtype /Image" not in pdf
    streams = [zlib.decompress(found) for found in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)]
    content = next(stream for stream in streams if stream.count(b"BT") > 10)
    assert content.count(b"Tj") + content.count(b"TJ") >= len(texts(to_svg(book)))


def test_a_notebook_shows_a_drawing_and_it_is_saved_as_shown(tmp_path: Path) -> None:
    book = find("craftworld/book")
    drawing = draw(book, theme="dark", direction="down", at=initial_state(book), scale=1.0)
    assert drawing._repr_svg_() == to_svg(book, options=drawing.options, at=initial_state(book))
    assert DARK.present.fill in drawing.svg()
    drawing.save(tmp_path / "book.svg")
    drawing.save(tmp_path / "book.png")
    assert (tmp_path / "book.svg").read_text(encoding="utf-8") == drawing.svg()
    assert (tmp_path / "book.png").read_bytes() == to_png(
        book, options=drawing.options, at=initial_state(book), scale=1.0
    )
