"""The page of what policies do in unseen instances is made of the results that are kept."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def _generator() -> Any:
    path = ROOT / "benchmarks" / "transfer_page.py"
    spec = importlib.util.spec_from_file_location("transfer_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_says_what_the_results_say() -> None:
    generator = _generator()
    lines = generator.read_lines(ROOT / "results" / "transfer.jsonl")
    assert (ROOT / "docs" / "transfer.md").read_text() == generator.page(lines)
    assert all(line["unseen"].keys() == line["right"].keys() for line in lines)
