"""Settings of an agent that need not learn anything, for runs that take a moment."""

from __future__ import annotations

from rewardmachines.agents.config import EpsilonSchedule
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig

NETWORK = NetworkConfig(Body.FLAT, hidden=(8,))
CONFIG = HierarchicalDqnConfig(
    environments=4,
    batch=8,
    network=NETWORK,
    replay_size=2000,
    replay_start=200,
    chunk=25,
    evaluate_every=2,
    exploration=EpsilonSchedule(steps=500),
    calls=CallConfig(network=NETWORK, replay_size=100, replay_start=5),
)
CHUNK = CONFIG.chunk * CONFIG.environments
"""Steps of a chunk."""
