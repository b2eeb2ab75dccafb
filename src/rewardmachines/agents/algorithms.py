"""Which settings belong to which algorithm."""

from __future__ import annotations

from dataclasses import fields

from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.core.errors import RewardMachineError


def config_type(algorithm: Algorithm) -> type[AgentConfig]:
    """The class of an algorithm's settings."""
    return CrmConfig if algorithm is Algorithm.CRM else HierarchicalDqnConfig


def check_config(algorithm: Algorithm, config: AgentConfig) -> None:
    """Raises an error if settings belong to another algorithm.

    Args:
        algorithm: The algorithm that is to be trained.
        config: Its settings.

    Raises:
        RewardMachineError: The settings are not of the class that the algorithm needs.
    """
    wanted = config_type(algorithm)
    if not isinstance(config, wanted):
        raise RewardMachineError(
            f"the settings of {algorithm.value} are a {wanted.__name__}, not a {type(config).__name__}"
        )


def crm_settings(config: HierarchicalDqnConfig) -> CrmConfig:
    """Settings of CRM that correspond to those of a hierarchical agent.

    Args:
        config: The settings of the hierarchical agent.

    Returns:
        The settings that both agents have. The discount is that of machines, which spans the whole task.
    """
    common = {setting.name: getattr(config, setting.name) for setting in fields(AgentConfig)}
    return CrmConfig(**{**common, "discount": config.call_discount})
