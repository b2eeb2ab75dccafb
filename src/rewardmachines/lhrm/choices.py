"""What people choose from when they learn machines, apart from all settings: JAX is not needed to read these names."""

from __future__ import annotations

from enum import Enum
from typing import Final

EXACT: Final = "exact"
"""The name of the learner that finds a machine with the fewest states."""


class Exploration(Enum):
    """How the agent explores where no machine says what to do.

    ACTIONS: with actions at random. OPTIONS: also with mastered machines and their formulas, as in the paper.
    PROPOSITIONS: also with each proposition that has been seen; how to make it true is learned from the first step on.
    """

    ACTIONS = "actions"
    OPTIONS = "options"
    PROPOSITIONS = "propositions"


class Callables(Enum):
    """Which machines a machine may call. LOWER: all of lower levels. RESTRICTED: those of the true one. NONE: none."""

    LOWER = "lower"
    RESTRICTED = "restricted"
    NONE = "none"
