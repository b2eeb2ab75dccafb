"""Settings for Gymnasium environments, which fit their observations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.agents.presets import base_values, extended
from rewardmachines.agents.registry import AgentKind
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.files.overrides import with_values
from rewardmachines.rollout.interface import ObservationCodec, ObservationError, body_for, check_network

DISCOUNTED: Final = 2
LAST_DISCOUNT: Final = 0.99
"""The number of times that the discount divides a reward by e over the longest episode, and the discount for very long
episodes. With a higher discount, values of neighbouring moments hardly differ."""
DISCOUNTED_CELLS: Final = 10
LAST_DISCOUNT_CELLS: Final = 0.98
"""The same for cells and grids, in which a single step leads further, and ways are much shorter than episodes: values
that are too high in a circle shrink by the discount only."""
STEPS_OF_CELL: Final = 100
"""Steps for each cell until exploration is at its least."""
MANY_CELLS: Final = 200
"""The number of cells from which there are two updates after each vector step."""
LOOKAHEAD: Final = 0.9
"""The lookahead of options. It is less than 1, so that satisfying a formula has a value before the first task
succeeds."""

GYMNASIUM: Final = with_values(HierarchicalDqnConfig(), base_values("gymnasium")["agent"], "gymnasium.toml, agent")
"""The hierarchical agent's settings for small problems, which are learned in a minute or so."""
AnyConfig = TypeVar("AnyConfig", bound=AgentConfig)


def gym_values(codec: ObservationCodec) -> Mapping[str, Any]:
    """The values of settings for small problems, by the parts of a file: those for cells and grids, or for vectors.

    Vectors of measured numbers, such as positions and velocities, need more and smaller updates and more exploration
    than cells, which a network distinguishes by single inputs.
    """
    name = "gymnasium-vectors" if codec.is_vector else "gymnasium"
    content = base_values(name)
    return extended(content, f"{name}.toml") if "extends" in content else content


def usual_settings(kind: AgentKind, codec: ObservationCodec, limit: int | None) -> AgentConfig:
    """The default settings of an agent.

    Args:
        kind: The agent.
        codec: The codec of observations.
        limit: Steps after which an episode is truncated, if known.
    """
    config = with_values(GYMNASIUM, gym_values(codec)["agent"], "gymnasium.toml, agent")
    settings = kind.settings(replace(fitting(config, codec, limit), lookahead=LOOKAHEAD))
    if kind.has_options:
        return settings
    # One Q-function learns the whole task, so it explores for longer than the policy of a formula.
    return replace(settings, exploration=replace(settings.exploration, steps=4 * settings.exploration.steps))


def fitting(config: HierarchicalDqnConfig, codec: ObservationCodec, limit: int | None) -> HierarchicalDqnConfig:
    """The settings for small problems, changed for long episodes and for many cells.

    The reward at the end of a task must still count at the beginning of an episode, so long episodes need a discount
    close to 1. Where there are many cells, exploration lasts until each can have been tried.

    Args:
        config: The settings for small problems.
        codec: The codec of observations.
        limit: Steps after which an episode is truncated, if known.
    """
    longest = MAX_STEPS if limit is None else limit
    times, last = (DISCOUNTED, LAST_DISCOUNT) if codec.is_vector else (DISCOUNTED_CELLS, LAST_DISCOUNT_CELLS)
    discount = round(min(max(1 - times / longest, config.discount), last), 3)
    config = replace(config, discount=discount)
    if (cells := codec.recall.choices) is None:
        return config
    steps = max(config.exploration.steps, STEPS_OF_CELL * cells)
    return replace(
        config,
        exploration=replace(config.exploration, steps=steps),
        updates=config.updates if cells < MANY_CELLS else 2,
    )


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
        usual: The default settings, whose body follows the shape if neither settings nor a network are given.
        network: Replaces the network of the settings.
        shape: The shape of an observation.

    Raises:
        ObservationError: Observations of this shape are no inputs for the network.
    """
    if callable(config):
        try:
            fitting = settled(None, usual, network, shape)
        except ObservationError:
            fitting = usual
            if config(usual).network == usual.network:  # no network is given
                raise
        return _checked(config(fitting), shape)
    if config is None and network is None:
        network = replace(usual.network, body=body_for(shape))
    config = config or usual
    if network is not None:
        config = replace(config, network=network)
        if isinstance(config, HierarchicalDqnConfig):
            own = replace(config.calls.network, body=network.body, filters=network.filters)
            config = replace(config, calls=replace(config.calls, network=own))
    return _checked(config, shape)


def _checked(config: AnyConfig, shape: tuple[int, ...]) -> AnyConfig:
    check_network(config.network, shape)
    if isinstance(config, HierarchicalDqnConfig):
        check_network(config.calls.network, shape)
    return config
