"""The core as JAX arrays: hierarchies that advance by the million. File names mirror `core/`."""

from rewardmachines.lowered.formula import LabelBits
from rewardmachines.lowered.hierarchy import Capacity, LoweredHierarchy, Tables, capacity_for, lower, together
from rewardmachines.lowered.traversal import (
    HierarchyMove,
    State,
    VerdictCode,
    initial_state,
    lift,
    move_on_event,
    moves,
    satisfied,
    step,
    verdict,
)

__all__ = [
    "Capacity",
    "HierarchyMove",
    "LabelBits",
    "LoweredHierarchy",
    "State",
    "Tables",
    "VerdictCode",
    "capacity_for",
    "initial_state",
    "lift",
    "lower",
    "move_on_event",
    "moves",
    "satisfied",
    "step",
    "together",
    "verdict",
]
