"""The settings of CRM."""

from __future__ import annotations

from dataclasses import dataclass, fields

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.core.errors import RewardMachineError


@dataclass(frozen=True)
class CrmConfig(AgentConfig):
    """The common settings, with a discount that spans the whole task."""

    discount: float = 0.99
    """The present value of a reward of 1 in the next step (γ). It spans the whole task."""
    counts_experiences: bool = False
    """Whether `replay_size` and `replay_start` count an experience for each step and non-terminal state of the machine,
    as published; otherwise they count steps."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target < 1:
            raise RewardMachineError(f"target: CRM copies its network after a number of updates, not {self.target:g}")


def crm_settings(config: HierarchicalDqnConfig) -> CrmConfig:
    """Settings of CRM that correspond to those of a hierarchical agent.

    Args:
        config: The settings of the hierarchical agent.

    Returns:
        The settings that both agents have. The discount is that of machines, which spans the whole task. CRM has no
        moving averages: its target network is a copy, as by default, where that of a formula is one.
    """
    common = {setting.name: getattr(config, setting.name) for setting in fields(AgentConfig)}
    target = config.target if config.target >= 1 else CrmConfig.target
    return CrmConfig(**{**common, "discount": config.calls.discount, "target": target})
