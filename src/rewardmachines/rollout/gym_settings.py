"""Settings for Gymnasium environments, and how they are made to fit observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.registry import AgentKind
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.rollout.observations import ObservationCodec, ObservationError, body_for, check_network

DISCOUNTED: Final = 2
LAST_DISCOUNT: Final = 0.99
"""How many times a reward is divided by e over the longest episode, and the discount for very long ones. With more,
values of neighbouring moments can hardly be told apart."""
DISCOUNTED_CELLS: Final = 10
LAST_DISCOUNT_CELLS: Final = 0.98
"""The same for cells and grids, in which a single step leads further, and ways are much shorter than episodes: values
that are too high in a circle shrink by the discount only."""
STEPS_OF_CELL: Final = 100
"""Steps for each cell until exploration is at its least."""
MANY_CELLS: Final = 200
"""With so many cells, there are two updates after each vector step."""
PERSISTENCE: Final = 0.9
"""How often random actions are repeated where observations are vectors."""
LOOKAHEAD: Final = 0.9
"""How much options look ahead. A little is left for the formula itself, so that there is something to learn from before
the first task is done."""

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
AnyConfig = TypeVar("AnyConfig", bound=AgentConfig)


def usual_settings(kind: AgentKind, codec: ObservationCodec, limit: int | None) -> AgentConfig:
    """The settings of an agent, if no others are asked for.

    Args:
        kind: The agent.
        codec: How observations are stored.
        limit: The number of steps after which an episode is cut off, if it is known.
    """
    chosen = replace(fitting(GYMNASIUM, codec, limit), lookahead=LOOKAHEAD)
    settings = kind.settings(chosen)
    if kind.has_options:
        return settings
    # One Q-function learns the whole task, so it explores for longer than the policy of a formula.
    return replace(settings, annealing_steps=4 * settings.annealing_steps)


def fitting(config: HierarchicalDqnConfig, codec: ObservationCodec, limit: int | None) -> HierarchicalDqnConfig:
    """The settings for small problems, changed for long episodes and for observations that are vectors.

    The reward at the end of a task must still count at the beginning of an episode, so long episodes need a discount
    close to 1. Vectors of measured numbers, such as positions and velocities, need more and smaller updates and more
    exploration than cells, which a network tells apart by single inputs. Bodies have inertia, so that actions must be
    repeated to lead somewhere, and moments that become rare must not be forgotten. Where there are many cells,
    exploration lasts until each can have been tried.

    Args:
        config: The settings for small problems.
        codec: How observations are stored.
        limit: The number of steps after which an episode is cut off, if it is known.
    """
    longest = MAX_STEPS if limit is None else limit
    times, last = (DISCOUNTED, LAST_DISCOUNT) if codec.is_vector else (DISCOUNTED_CELLS, LAST_DISCOUNT_CELLS)
    discount = round(min(max(1 - times / longest, config.discount), last), 3)
    config = replace(config, discount=discount)
    if codec.recall.choices is not None:
        return _for_cells(config, codec.recall.choices)
    if not codec.is_vector:
        return config
    return replace(
        config,
        updates=2 * config.updates,
        learning_rate=config.learning_rate / 2,
        target_period=2 * config.target_period,
        replay_size=4 * config.replay_size,
        annealing_steps=2 * config.annealing_steps,
        last_exploration=config.last_exploration / 2,
        persistence=PERSISTENCE,
    )


def _for_cells(config: HierarchicalDqnConfig, cells: int) -> HierarchicalDqnConfig:
    """The settings for observations that are numbers of cells, each of which has to be tried."""
    annealing = max(config.annealing_steps, STEPS_OF_CELL * cells)
    return replace(config, annealing_steps=annealing, updates=config.updates if cells < MANY_CELLS else 2)


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
