"""Two ways to train: `paper`, as published, and `fast`, tuned for wall-clock time. Both are settings of the same code.

Settings that are the same in all domains are here; those that a domain changes are part of the domain
(`rewardmachines.envs.domain.Sizes`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

import jax

from rewardmachines.agents.choices import Preset as Preset
from rewardmachines.agents.config import AgentConfig, Layout
from rewardmachines.agents.crm.config import CrmConfig, crm_settings
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.registry import agent_kind
from rewardmachines.envs.domain import PUBLISHED, Domain, Overrides, Sizes
from rewardmachines.envs.registry import domain as find_domain
from rewardmachines.envs.registry import domain_of
from rewardmachines.files.overrides import with_values

AnyConfig = TypeVar("AnyConfig", bound=AgentConfig)

SOLVED_RETURN: Final = 0.95
"""The mean return in three consecutive evaluations with which a task is solved."""


def preset(name: Preset | str, domain: str, setting: str, agent: str = "hrl", *, fresh: bool = False) -> AgentConfig:
    """The settings of an agent for a domain in one of its settings.

    Args:
        name: The preset.
        domain: The domain's name.
        setting: One of the domain's settings.
        agent: The name of the agent.
        fresh: Whether the agent is trained in fresh instances.

    Raises:
        RewardMachineError: The domain or the setting does not exist, or the domain speaks of settings that agents do
            not have.
    """
    if agent == "crm":
        return crm_preset(name, domain, setting, fresh=fresh)
    return agent_kind(agent).settings(hierarchical_preset(name, domain, setting, fresh=fresh))


def hierarchical_preset(name: Preset | str, domain: str, setting: str, *, fresh: bool = False) -> HierarchicalDqnConfig:
    """The settings of the hierarchical agent, on a hierarchy or its flat form. Arguments as for `preset`."""
    known = find_domain(domain)
    setting = known.setting_name(setting)
    usual, body = _PAPER if Preset(name) is Preset.PAPER else _FAST, _body(known, setting)
    config = replace(
        usual, network=replace(usual.network, body=body), call_network=replace(usual.call_network, body=body)
    )
    config = with_sizes(config, preset_sizes(name, known, setting).agent, known)
    return with_sizes(config, fresh_sizes(known, setting).agent, known) if fresh else config


def crm_preset(name: Preset | str, domain: str, setting: str, *, fresh: bool = False) -> CrmConfig:
    """The settings of CRM: those that it has in common with the hierarchical agent, and then what differs.

    Arguments as for `preset`.
    """
    known = find_domain(domain)
    setting = known.setting_name(setting)
    config = crm_settings(hierarchical_preset(name, domain, setting, fresh=fresh))
    config = _paper_crm(config) if Preset(name) is Preset.PAPER else _fast_crm(config)
    config = with_sizes(config, preset_sizes(name, known, setting).crm, known)
    return with_sizes(config, fresh_sizes(known, setting).crm, known) if fresh else config


def preset_sizes(name: Preset | str, domain: Domain, setting: str) -> Sizes:
    """The settings that a preset changes for a setting of a domain."""
    known = domain.settings[setting]
    return known.paper if Preset(name) is Preset.PAPER else known.fast


def fresh_sizes(domain: Domain, setting: str) -> Sizes:
    """The settings that fresh instances change for a setting, on the device that there is."""
    return domain.settings[setting].fresh.sizes_on(jax.default_backend())


def with_sizes(config: AnyConfig, sizes: Overrides, domain: Domain) -> AnyConfig:
    """An agent's settings with the changes that a domain asks for.

    Raises:
        RewardMachineError: The domain speaks of settings that the agent does not have.
    """
    return with_values(config, sizes, f"sizes of {domain.title}") if sizes else config


def solved_return(name: Preset | str) -> float:
    """The mean return with which training ends, if nothing else is asked for.

    Args:
        name: The preset. Runs as published go on to their last episode, whatever they return: 0.
    """
    return 0.0 if Preset(name) is Preset.PAPER else SOLVED_RETURN


def published_episodes(setting: str, domain: str | None = None) -> int:
    """For how many episodes the paper trains with a given hierarchy.

    Args:
        setting: A setting of a domain.
        domain: The domain's name; the first that has such a setting if not given.

    >>> published_episodes("op"), published_episodes("frl"), published_episodes("wd")
    (100000, 200000, 200000)
    """
    known = find_domain(domain_of(setting) if domain is None else domain)
    return known.settings[known.setting_name(setting)].episodes


def _body(domain: Domain, setting: str) -> Body:
    """The network's body unless the domain says otherwise: convolutions for grids, none for vectors."""
    shape = domain.environment(setting, PUBLISHED).observation_shape
    return Body.CNN if len(shape) == 3 else Body.MLP


_PAPER: Final = HierarchicalDqnConfig(
    environments=8,
    updates=8,
    batch=32,
    observation="published",
    layout=Layout.SEPARATE,
    network=NetworkConfig(hidden=(256,)),
    optimizer="rmsprop",
    learning_rate=5e-4,
    discount=0.9,
    formulas=4,
    replay_size=500_000,
    replay_start=100_000,
    target_period=1500,
    annealing_steps=2_000_000,
    event_rewards=False,
    call_network=NetworkConfig(hidden=(64,)),
    call_learning_rate=5e-4,
    call_discount=0.99,
    call_batch=32,
    call_updates=1.0,
    call_replay_size=10_000,
    call_replay_start=1_000,
    call_target_period=500,
    call_annealing=10_000,
    curriculum_weight=0.99,
    chunk=500,
    evaluate_episodes=100,
)
"""N environments in lockstep, and N batches after each vector step: the paper's ratio of updates to steps."""

_FAST: Final = HierarchicalDqnConfig(network=NetworkConfig(), call_network=NetworkConfig(hidden=(64,)))
"""Fewer and larger batches, heads on one body, and observations that tell the kinds of objects apart."""


def _paper_crm(config: CrmConfig) -> CrmConfig:
    """The published replay memory counts an experience for each state of the machine."""
    return replace(config, counts_experiences=True, replay_size=1_000_000)


def _fast_crm(config: CrmConfig) -> CrmConfig:
    """One Q-function learns the whole task, so it explores ten times as long as the policy of a formula."""
    return replace(config, layout=Layout.SHARED, annealing_steps=10 * config.annealing_steps)
