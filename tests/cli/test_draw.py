"""The command `hrm draw`: what it writes with which options, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Hrm
from rewardmachines.core.traversal import traverse
from rewardmachines.drawing import draw
from rewardmachines.library import find


def test_options_are_those_of_python(hrm: Hrm, tmp_path: Path) -> None:
    book = find("craftworld/book")
    *_, present = traverse(book, [{"sugarcane"}])
    options = ("--theme", "dark", "--background", "transparent", "--direction", "down", "--no-titles", "--no-frames")
    assert hrm("draw", "craftworld/book", "-o", tmp_path / "a.svg", *options, "--trace", "sugarcane") == 0
    expected = draw(
        book, theme="dark", background="transparent", direction="down", titles=False, frames=False, at=present
    )
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == expected.svg()
    assert hrm("draw", "craftworld/book", "-o", tmp_path / "b.svg", "--machine", "paper", "--width", 300) == 0
    assert (tmp_path / "b.svg").read_text(encoding="utf-8") == draw(book, machine="paper", width=300).svg()


def test_a_pdf_is_written(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm("draw", "craftworld/bucket", "-o", tmp_path / "bucket.pdf") == 0
    assert (tmp_path / "bucket.pdf").read_bytes() == draw(find("craftworld/bucket")).pdf()


@pytest.mark.parametrize(
    ("option", "value", "answer"),
    [
        ("--machine", "papper", "did you mean 'paper'"),
        ("--trace", "sugercane", "did you mean 'sugarcane'"),
        ("--width", "10", "at least 100 units wide"),
        ("--scale", "0", "must be positive"),
        ("--theme", "sepia", "--theme is one of dark, light"),
        ("--direction", "up", "--direction is one of"),
        ("--engine", "auto", "--engine is one of"),
    ],
)
def test_what_is_no_option_is_answered_in_one_line(
    hrm: Hrm, tmp_path: Path, option: str, value: str, answer: str
) -> None:
    assert hrm("draw", "craftworld/book", "-o", tmp_path / "a.png", option, value) == 2
    assert answer in hrm.err
    assert len(hrm.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())
