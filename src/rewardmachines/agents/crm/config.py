"""The settings of CRM."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from rewardmachines.agents.config import AgentConfig


@dataclass(frozen=True)
class CrmConfig(AgentConfig):
    """The common settings, with a discount that spans the whole task."""

    discount: float = 0.99
    """What a reward of the next step is worth now; it spans the whole task."""
    counts_experiences: bool = False
    """Whether `replay_size` and `replay_start` count an experience for each step and non-terminal state of the machine,
    as published; otherwise they count steps."""


def earlier_crm_settings(plain: dict[str, Any]) -> dict[str, Any]:
    """Settings of a CRM run as they are today, of those that earlier versions wrote for all agents in one record.

    Args:
        plain: The settings as read from JSON. CRM used `call_discount` for its discount.

    Returns:
        The settings that CRM has, under the names of today.
    """
    names = {setting.name for setting in fields(CrmConfig)}
    today = {name: value for name, value in plain.items() if name in names}
    return {**today, "discount": plain["call_discount"]} if "call_discount" in plain else today
