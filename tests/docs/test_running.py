"""What a page shows is judged: other outputs, failing commands and blocks without a treatment are found out."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from docs import blocks as reading
from docs.blocks import Block, Treatment, blocks, entries
from docs.running import run_page

PYTHON = "```python\nprint(1 + 1)\n```\n\n```text\n{}\n```\n"
COMMAND = '{}```sh\nhrm compile "a ; b" -o chain.yaml\nhrm equivalent chain.yaml craftworld/book\n```\n'


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reading, "ROOT", tmp_path)
    return tmp_path / "page.md"


def run(path: Path, text: str) -> int:
    path.write_text(text)
    return run_page(blocks(path), path.parent, {Treatment.RUN, Treatment.FILE})


@pytest.mark.parametrize("shown", ["2", "..."])
def test_what_is_printed_is_what_is_shown(page: Path, shown: str) -> None:
    assert run(page, PYTHON.format(shown)) == 1


def test_other_outputs_are_found_out(page: Path) -> None:
    with pytest.raises(AssertionError, match=r"page\.md:1"):
        run(page, PYTHON.format("3"))


def test_an_arrow_promises_a_value_or_what_is_printed(page: Path) -> None:
    assert run(page, "```python\nprint(1)  # → 1\n[2]  # → [2]\n```\n")
    with pytest.raises(AssertionError, match=r"\[2\]"):
        run(page, "```python\n[2]  # → [3]\n```\n")


def test_errors_name_the_line_of_the_page(page: Path) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        run(page, "A page.\n\n```python\none = 1\none / 0\n```\n")
    assert raised.traceback[-1].lineno == 4  # counted from 0


def test_a_command_must_end_as_the_page_says(page: Path) -> None:
    assert run(page, COMMAND.format("<!-- exit status: 1 -->\n\n"))
    with pytest.raises(AssertionError, match="exit status 1"):
        run(page, COMMAND.format(""))


def test_blocks_share_names_and_files(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mine", ModuleType("mine"))  # of another test
    text = "<!-- file: mine/words.py -->\n\n```python\nWORD = 'a'\n```\n\n```python\nfrom mine.words import WORD\n```\n"
    assert run(page, text + "\n```python\nprint(WORD)  # → a\n```\n") == 3


def test_marks_are_those_of_the_block_that_follows(page: Path) -> None:
    page.write_text("<!-- nightly: an hour -->\n\n```python\nwork()\n```\n\n```python\nplay()\n```\n")
    assert [block.treatment for block in blocks(page)] == [Treatment.NIGHTLY, Treatment.RUN]


def test_what_has_no_treatment_is_found_out(page: Path) -> None:
    page.write_text("```yaml\na: b\n```\n\nProse.\n\n```text\nsaid\n```\n\n    pip install x\n    unheard-of\n")
    assert [entry.treatment for entry in entries(page)] == [
        Treatment.UNKNOWN,
        Treatment.UNKNOWN,
        Treatment.NOT_RUN,
        Treatment.UNKNOWN,
    ]
    with pytest.raises(AssertionError, match="who runs unheard-of"):
        run_page([Block("page.md", 1, "sh", "unheard-of")], page.parent, {Treatment.RUN})
