"""Pictures of reports can be read on light and on dark pages."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.drawing import LayoutEngine, to_svg
from rewardmachines.library import task
from rewardmachines.reports.charts import contrast, counterpart, new_figure, save_figure, suit_both

CARD = "#212121"
"""The background of cards on a dark page."""

colours = st.integers(0, 2**24 - 1).map(lambda number: f"#{number:06x}")


@given(colours)
def test_what_can_be_read_on_white_can_be_read_in_the_dark(colour: str) -> None:
    assert contrast(counterpart(colour), CARD) >= min(4.5, contrast(colour, "#ffffff")) - 0.05


def test_white_becomes_the_card_of_the_style_sheet() -> None:
    sheet = resources.files("rewardmachines.reports") / "page.css"
    assert counterpart("#ffffff") == CARD
    assert f"--card: {CARD}" in sheet.read_text()


@pytest.mark.parametrize("name", ["bucket", "cake"])
def test_every_colour_of_a_drawing_has_a_rule_and_nothing_else_changes(name: str) -> None:
    plain = to_svg(task("craftworld", name), engine=LayoutEngine.BUILTIN)
    both = suit_both(plain)
    ElementTree.fromstring(both)
    style = re.search(r"<style>.*?</style>", both, re.DOTALL)
    assert style
    assert both.replace(style.group(), "") == plain
    for colour in set(re.findall(r"#[0-9a-f]{6}", plain)):
        assert f'[fill="{colour}"]' in style.group()


def test_an_svg_of_curves_has_a_dark_side_if_that_is_asked_for(tmp_path: Path) -> None:
    figure = new_figure(2, 2)
    figure.add_subplot()
    save_figure(figure, tmp_path / "plain.svg")
    save_figure(figure, tmp_path / "both.svg", suits_both=True)
    assert "prefers-color-scheme" not in (tmp_path / "plain.svg").read_text()
    both = (tmp_path / "both.svg").read_text()
    assert '[style*="fill: #ffffff"] { fill: #212121' in both
    ElementTree.fromstring(both)
