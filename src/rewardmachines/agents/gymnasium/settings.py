"""Settings for Gymnasium environments, and how they are made to fit observations."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

from rewardmachines.agents.algorithms import crm_settings
from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.gymnasium.observations import body_for, check_network
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig

GYMNASIUM: Final = HierarchicalDqnConfig(
    batch=128,
    network=NetworkConfig(Body.MLP, hidden=(64, 64)),
    discount=0.9,
    replay_size=50_000,
    replay_start=1_000,
    target_period=100,
    annealing_steps=5_000,
    call_network=NetworkConfig(Body.MLP, hidden=(64,)),
    call_replay_size=5_000,
    call_replay_start=100,
    call_target_period=50,
    call_annealing=200,
)
"""The hierarchical agent's settings for small problems, which are learned in a minute or so."""
GYMNASIUM_CRM: Final = crm_settings(GYMNASIUM)
"""CRM's settings for small problems."""
AnyConfig = TypeVar("AnyConfig", bound=AgentConfig)


def settled(
    config: AnyConfig | None, usual: AnyConfig, network: NetworkConfig | None, shape: tuple[int, ...]
) -> AnyConfig:
    """The settings, with networks that fit observations of the shape.

    Args:
        config: The settings that were asked for; the usual ones, if not given.
        usual: Their body is chosen by the shape if neither settings nor a network are asked for.
        network: Replaces the network of the settings.
        shape: That of an observation.

    Raises:
        ObservationError: A network cannot look at observations of this shape.
    """
    if config is None and network is None:
        network = replace(usual.network, body=body_for(shape))
    config = config or usual
    if network is not None:
        config = replace(config, network=network)
    check_network(config.network, shape)
    if isinstance(config, HierarchicalDqnConfig):
        if network is not None:
            calls = replace(config.call_network, body=network.body, filters=network.filters)
            config = replace(config, call_network=calls)
        check_network(config.call_network, shape)
    return config
