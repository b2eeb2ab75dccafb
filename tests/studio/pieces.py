"""Pieces of texts in all languages of the Studio, which make strange texts when they are put together at random."""

from __future__ import annotations

from typing import Final

PIECES: Final = (
    *"ab;&|[](){}!:\"'\n -X😀",
    "ltlf:",
    "regex:",
    "tasks:",
    "machines:",
    "root: m",
    "HOA: v1",
    "digraph",
    "avoid",
)
