"""The agents by name: the hierarchical agent, the same on a flat machine, CRM, and registered agents.

    from rewardmachines.agents.registry import AgentKind, register_agent

    register_agent(AgentKind("dqn", DqnConfig, build_dqn, settings=lambda usual: DqnConfig(...)))

After that, `rm.train(..., agent="dqn")` and `hrm train --agent dqn` train it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.crm.agent import CrmAgent
from rewardmachines.agents.crm.config import CrmConfig, crm_settings
from rewardmachines.agents.hierarchical_dqn.agent import HierarchicalAgent
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.protocol import AnyAgent, Recall
from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.lowered import Capacity

BuildAgent = Callable[[Any, Capacity, tuple[int, ...], int, Recall], AnyAgent]
"""Builds an agent of its settings, the sizes of the hierarchy's tables, the shape of an observation, the number of
actions, and the function that computes observations of what the replay memory holds."""


@dataclass(frozen=True)
class AgentKind:
    """An agent that can be trained by its name."""

    name: str
    config: type[AgentConfig]
    """The class of the agent's settings."""
    build: BuildAgent
    settings: Callable[[HierarchicalDqnConfig], AgentConfig]
    """Derives the agent's settings from those that a preset has for the hierarchical agent."""
    is_flat: bool = False
    """Whether the agent follows the smallest flat form of a hierarchy, in place of the hierarchy."""
    has_options: bool = False
    """Whether the agent chooses options, which are then part of its task (`OptionTask`)."""
    help: str = ""
    """A phrase that describes the agent."""


def _hierarchical(
    config: HierarchicalDqnConfig, capacity: Capacity, shape: tuple[int, ...], actions: int, recall: Recall
) -> AnyAgent:
    return HierarchicalAgent(config, shape, actions, capacity.depth + 1, recall)


def _crm(config: CrmConfig, capacity: Capacity, shape: tuple[int, ...], actions: int, recall: Recall) -> AnyAgent:
    return CrmAgent(config, shape, actions, capacity.states, recall)


HRL: Final = AgentKind(
    "hrl", HierarchicalDqnConfig, _hierarchical, lambda usual: usual, has_options=True, help="options on the hierarchy"
)
FLAT_HRL: Final = AgentKind(
    "flat-hrl",
    HierarchicalDqnConfig,
    _hierarchical,
    lambda usual: usual,
    is_flat=True,
    has_options=True,
    help="options on its smallest flat form",
)
CRM: Final = AgentKind(
    "crm", CrmConfig, _crm, crm_settings, is_flat=True, help="one Q-function on the smallest flat form"
)
_OF_PACKAGE: Final = (HRL, FLAT_HRL, CRM)
_KINDS: Final[dict[str, AgentKind]] = {kind.name: kind for kind in _OF_PACKAGE}


def register_agent(kind: AgentKind) -> None:
    """Registers an agent by its name, until the process ends.

    Raises:
        DuplicateNameError: There is another agent of that name.
    """
    if _KINDS.get(kind.name, kind) != kind:
        raise DuplicateNameError(f"there is another agent called '{kind.name}'")
    _KINDS[kind.name] = kind


def unregister_agent(name: str) -> None:
    """Removes an agent that was registered; those of the package stay."""
    if name not in {kind.name for kind in _OF_PACKAGE}:
        _KINDS.pop(name, None)


def agent_names() -> tuple[str, ...]:
    """The names of all agents."""
    return tuple(_KINDS)


def agent_kind(name: str) -> AgentKind:
    """The agent of a name.

    Raises:
        RewardMachineError: There is no agent of that name.
    """
    if name not in _KINDS:
        hint = suggestion(name, _KINDS) or f"; there are {', '.join(_KINDS)}"
        raise RewardMachineError(f"there is no agent '{name}'{hint}")
    return _KINDS[name]
