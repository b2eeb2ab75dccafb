"""The tasks of which the paper's example, Book, consists."""

from __future__ import annotations

BOOK = {"paper": "sugarcane ; workbench", "leather": "rabbit ; workbench"}
