"""Every code block and shell line of the documents is run, with what it shows; `make test-docs` runs the slow ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docs.blocks import ROOT, Treatment, blocks, entries, pages
from docs.running import run_page

QUICK = {Treatment.RUN, Treatment.FILE}
ALL = QUICK | {Treatment.NIGHTLY}
TREATMENTS = ALL if os.environ.get("TEST_DOCS") == "1" else QUICK
FOUND = {path.relative_to(ROOT).as_posix(): blocks(path) for path in pages()}
RUN = [
    path.relative_to(ROOT).as_posix()
    for path in pages()
    if {entry.treatment for entry in entries(path)} & (TREATMENTS - {Treatment.FILE})
]


@pytest.mark.parametrize("page", RUN)
def test_a_page_goes_as_it_is_told(page: str, tmp_path: Path) -> None:
    assert run_page(FOUND[page], tmp_path, TREATMENTS)


def test_nothing_is_left_out_in_silence() -> None:
    found = [entry for path in pages() for entry in entries(path)]
    assert [entry for entry in found if entry.treatment is Treatment.UNKNOWN] == []
    explained = (Treatment.NIGHTLY, Treatment.WORLDS, Treatment.NOT_RUN)
    assert [entry for entry in found if entry.treatment in explained and len(entry.reason) < 8] == []
    assert {Treatment.RUN, Treatment.NIGHTLY, Treatment.WORLDS} <= {entry.treatment for entry in found}


def test_what_is_shown_says_something() -> None:
    shown = [block for found in FOUND.values() for block in found if block.is_output]
    assert [(block.page, block.line) for block in shown if block.text.strip() in ("", "...")] == []


def test_tests_that_run_a_page_elsewhere_read_it() -> None:
    named = [entry for path in pages() for entry in entries(path) if entry.treatment is Treatment.ELSEWHERE]
    assert named
    for entry in named:
        assert Path(entry.page).name in (ROOT / entry.reason).read_text(), entry
