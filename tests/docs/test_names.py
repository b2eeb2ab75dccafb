"""One name stands for one class."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "rewardmachines"


def test_no_two_classes_share_a_name() -> None:
    """Commands are named after themselves, and classes with an underscore belong to their file."""
    files = [path for path in SOURCES.rglob("*.py") if path.parent != SOURCES / "cli" / "commands"]
    trees = [ast.parse(path.read_text()) for path in files]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert len(names) > 300
    assert [name for name, count in names.items() if count > 1 and not name.startswith("_")] == []
