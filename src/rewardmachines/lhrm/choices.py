"""The names of strategies and restrictions for learning machines, which are read without JAX."""

from __future__ import annotations

from enum import Enum
from typing import Final

EXACT: Final = "exact"
"""The name of the learner that finds a machine with the fewest states."""


class Exploration(Enum):
    """The strategy for exploration where no machine has an option.

    ACTIONS: random actions. OPTIONS: also mastered machines and their formulas, as in the paper. PROPOSITIONS: also an
        option for each observed proposition; its policy is learned from the first step on.
    """

    ACTIONS = "actions"
    OPTIONS = "options"
    PROPOSITIONS = "propositions"


class Callables(Enum):
    """The machines that a machine may call. LOWER: all of lower levels. RESTRICTED: the true callees. NONE: none."""

    LOWER = "lower"
    RESTRICTED = "restricted"
    NONE = "none"
