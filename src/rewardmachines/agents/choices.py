"""What people choose from when they train, apart from all settings: nobody waits for JAX to read these names."""

from __future__ import annotations

from enum import Enum


class Algorithm(Enum):
    """What is trained.

    HRL: options on the hierarchy. FLAT_HRL: options on its smallest flat form. CRM: one Q-function on that form.
    """

    HRL = "hrl"
    FLAT_HRL = "flat-hrl"
    CRM = "crm"


class Preset(Enum):
    """The name of a preset.

    PAPER: the published settings; where the published code differs from the text, those of the code. FAST: settings
    that were tuned for wall-clock time. TABLE: agents as in FAST, machines learned by the rules of PAPER, so that the
    numbers of calls, examples and episodes can be compared with the paper's tables.
    """

    PAPER = "paper"
    TABLE = "table"
    FAST = "fast"
