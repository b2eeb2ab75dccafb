"""Settings of an agent that need not learn anything, for runs that take a moment."""

from __future__ import annotations

from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig

NETWORK = NetworkConfig(Body.FLAT, hidden=(8,))
CONFIG = HierarchicalDqnConfig(
    environments=4, batch=8, network=NETWORK, call_network=NETWORK, replay_size=2000, replay_start=200, chunk=25,
    evaluate_every=2, call_replay_size=100, call_replay_start=5, annealing_steps=500,
)  # fmt: skip
CHUNK = CONFIG.chunk * CONFIG.environments
"""Steps of a chunk."""
