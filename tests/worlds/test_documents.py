"""What the documents show of other libraries is run as it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.blocks import ROOT, Treatment, blocks, pages
from docs.running import run_page

FOUND = {path.relative_to(ROOT).as_posix(): blocks(path) for path in pages()}
PAGES = [page for page, found in FOUND.items() if Treatment.WORLDS in {block.treatment for block in found}]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_goes_as_it_is_told(page: str, tmp_path: Path) -> None:
    assert run_page(FOUND[page], tmp_path, {Treatment.RUN, Treatment.FILE, Treatment.WORLDS})
