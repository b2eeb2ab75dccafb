"""The core as JAX arrays: hierarchies that advance by the million. File names mirror `core/`."""

from rewardmachines.lowered.formula import LabelBits
from rewardmachines.lowered.hierarchy import Capacity, LoweredHierarchy, Tables, capacity_for, lower, together
from rewardmachines.lowered.traversal import State, initial_state, lift, moves, satisfied, step, verdict

__all__ = [
    "Capacity",
    "LabelBits",
    "LoweredHierarchy",
    "State",
    "Tables",
    "capacity_for",
    "initial_state",
    "lift",
    "lower",
    "moves",
    "satisfied",
    "step",
    "together",
    "verdict",
]
