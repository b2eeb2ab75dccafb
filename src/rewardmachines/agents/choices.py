"""The names of the presets, which are read without JAX."""

from __future__ import annotations

from enum import Enum


class Preset(Enum):
    """The name of a preset.

    PAPER: the published settings; where the published code differs from the text, those of the code. FAST: settings
    that were tuned for wall-clock time. TABLE: agents as in FAST, machines learned by the rules of PAPER, so that the
    numbers of calls, examples and episodes can be compared with the paper's tables.
    """

    PAPER = "paper"
    TABLE = "table"
    FAST = "fast"
