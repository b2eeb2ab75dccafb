"""Traces: what was observed in an episode, and how it ended."""

from rewardmachines.traces.trace import Outcome, Trace, compress, singletons

__all__ = ["Outcome", "Trace", "compress", "singletons"]
