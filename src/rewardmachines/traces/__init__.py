"""Traces: what was observed in an episode, and how it ended."""

from rewardmachines.core.events import compress
from rewardmachines.traces.trace import Outcome, Trace, singletons

__all__ = ["Outcome", "Trace", "compress", "singletons"]
