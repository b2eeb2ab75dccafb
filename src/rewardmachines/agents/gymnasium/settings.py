"""Settings for Gymnasium environments, and how they are made to fit observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

from rewardmachines.agents.algorithms import crm_settings
from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.gymnasium.observations import ObservationError, body_for, check_network
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
    chunk=100,
    evaluate_every=5,
)
"""The hierarchical agent's settings for small problems, which are learned in a minute or so."""
GYMNASIUM_CRM: Final = crm_settings(GYMNASIUM)
"""CRM's settings for small problems."""
AnyConfig = TypeVar("AnyConfig", bound=AgentConfig)
AskedConfig: TypeAlias = AgentConfig | Callable[[Any], AgentConfig] | None
"""Settings that are asked for: all of them, a function that changes the usual ones, or none for the usual ones."""


def usual_settings(algorithm: Algorithm) -> AgentConfig:
    """The settings of an algorithm for small problems."""
    return GYMNASIUM_CRM if algorithm is Algorithm.CRM else GYMNASIUM


def settled(
    config: AnyConfig | Callable[[AnyConfig], AnyConfig] | None,
    usual: AnyConfig,
    network: NetworkConfig | None,
    shape: tuple[int, ...],
) -> AnyConfig:
    """The settings, with networks that fit observations of the shape.

    Args:
        config: The settings that were asked for, or a function that changes those that fit; the usual ones, if not
            given.
        usual: Their body is chosen by the shape if neither settings nor a network are asked for.
        network: Replaces the network of the settings.
        shape: That of an observation.

    Raises:
        ObservationError: A network cannot look at observations of this shape.
    """
    if callable(config):
        try:
            fitting = settled(None, usual, network, shape)
        except ObservationError:
            fitting = usual
            if config(usual).network == usual.network:  # nobody says which network looks at such observations
                raise
        return _checked(config(fitting), shape)
    if config is None and network is None:
        network = replace(usual.network, body=body_for(shape))
    config = config or usual
    if network is not None:
        config = replace(config, network=network)
        if isinstance(config, HierarchicalDqnConfig):
            calls = replace(config.call_network, body=network.body, filters=network.filters)
            config = replace(config, call_network=calls)
    return _checked(config, shape)


def _checked(config: AnyConfig, shape: tuple[int, ...]) -> AnyConfig:
    check_network(config.network, shape)
    if isinstance(config, HierarchicalDqnConfig):
        check_network(config.call_network, shape)
    return config
