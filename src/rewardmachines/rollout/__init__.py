"""Rollouts: an agent acts in environments and learns, whether its hierarchies are given or still being learned."""
