"""The settings of LHRM in presets, and in Gymnasium environments."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rewardmachines.agents.presets import (
    Preset,
    base_values,
    hierarchical_settings,
    preset_values,
    published_episodes,
)
from rewardmachines.envs.registry import domain as find_domain
from rewardmachines.files.overrides import with_values
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.rollout.gym_settings import GYMNASIUM, fitting, gym_values
from rewardmachines.rollout.interface import ObservationCodec


def lhrm_preset(name: Preset | str, domain: str, setting: str, *, fresh: bool = False) -> LhrmConfig:
    """The settings of LHRM for a domain in one of its settings.

    Args:
        name: The preset.
        domain: The domain's name.
        setting: One of the domain's settings.
        fresh: Whether the agent is trained in fresh instances.

    Raises:
        RewardMachineError: The domain or the setting does not exist, or a file has settings that agents do not have.
    """
    known, values = find_domain(domain), preset_values(name, domain, setting, fresh=fresh)
    agent = hierarchical_settings(values["agent"], known, known.setting_name(setting))
    return with_values(LhrmConfig(agent), values["learn"], f"settings of {known.title}, learn")


LHRM_GYMNASIUM: Final = with_values(LhrmConfig(GYMNASIUM), base_values("gymnasium")["learn"], "gymnasium.toml, learn")
"""Settings for small problems in Gymnasium environments, which are learned in a minute or two."""


def lhrm_gymnasium(codec: ObservationCodec, limit: int | None) -> LhrmConfig:
    """The settings of LHRM in Gymnasium environments, fitting observations and the longest episode.

    Args:
        codec: The codec of observations.
        limit: Steps after which an episode is truncated, if known.
    """
    values = gym_values(codec)
    agent = with_values(GYMNASIUM, values["agent"], "gymnasium.toml, agent")
    config = with_values(LhrmConfig(agent), values["learn"], "gymnasium.toml, learn")
    return replace(config, agent=fitting(config.agent, codec, limit))


def published_learning_episodes(setting: str, domain: str | None = None) -> int:
    """The number of episodes for which the paper learns hierarchies, of all tasks together.

    Args:
        setting: A setting of a domain.
        domain: The domain's name; the first that has such a setting if not given.

    >>> published_learning_episodes("op"), published_learning_episodes("frl")
    (150000, 300000)
    """
    return 3 * published_episodes(setting, domain) // 2
