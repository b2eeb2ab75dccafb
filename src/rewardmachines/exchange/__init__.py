"""Machines and samples in the formats of other tools: HOA, DOT, Abbadingo, and the paper's answer set programs."""

from rewardmachines.exchange.abbadingo import read_abbadingo
from rewardmachines.exchange.asp import to_asp
from rewardmachines.exchange.dot import from_dot
from rewardmachines.exchange.hoa import from_hoa, to_hoa

__all__ = ["from_dot", "from_hoa", "read_abbadingo", "to_asp", "to_hoa"]
