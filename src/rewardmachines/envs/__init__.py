"""Environments whose states are labelled with propositions: the paper's two domains, and yours.

Importing this package registers `rewardmachines/CraftWorld-OP-v0` and its siblings where Gymnasium is installed.
"""

from importlib import import_module
from typing import Any

from rewardmachines.envs.episodes import Episode, StepResult, advance, advance_or_begin, begin
from rewardmachines.envs.gymnasium_ids import ids_of, register_ids
from rewardmachines.envs.interface import Environment
from rewardmachines.envs.registry import BUILT_IN
from rewardmachines.envs.scenario import Scenario, scenario

__all__ = [
    "IDS",
    "DiscreteActions",
    "Environment",
    "EnvironmentFault",
    "Episode",
    "HierarchyWrapper",
    "LabelingWrapper",
    "MiniGridLabels",
    "MiniGridPlanes",
    "OutOfBoundsWarning",
    "Scenario",
    "ScenarioEnv",
    "ScenarioVectorEnv",
    "Shaping",
    "StepResult",
    "advance",
    "advance_or_begin",
    "begin",
    "label_minigrid",
    "register",
    "scenario",
]

IDS = {
    identifier: (known.name, setting) for known in BUILT_IN.values() for identifier, setting in ids_of(known).items()
}
"""The Gymnasium ids of the domains of the paper, each with the domain's name and a setting."""

# What needs Gymnasium is loaded when it is asked for: training runs without.
_WITH_GYMNASIUM = {
    "DiscreteActions": "rewardmachines.envs.gymnasium.discrete_actions",
    "EnvironmentFault": "rewardmachines.envs.gymnasium.checks.faults",
    "HierarchyWrapper": "rewardmachines.envs.gymnasium.hierarchy",
    "LabelingWrapper": "rewardmachines.envs.gymnasium.labeling",
    "MiniGridLabels": "rewardmachines.envs.gymnasium.minigrid",
    "MiniGridPlanes": "rewardmachines.envs.gymnasium.minigrid",
    "OutOfBoundsWarning": "rewardmachines.envs.gymnasium.checks.faults",
    "ScenarioEnv": "rewardmachines.envs.gymnasium.single",
    "ScenarioVectorEnv": "rewardmachines.envs.gymnasium.vector",
    "Shaping": "rewardmachines.envs.gymnasium.rewards",
    "label_minigrid": "rewardmachines.envs.gymnasium.minigrid",
}


def register() -> None:
    """Makes the domains of the paper known to Gymnasium, if it is installed. Importing this package does it."""
    for domain in BUILT_IN.values():
        register_ids(domain)


def __getattr__(name: str) -> Any:
    if name not in _WITH_GYMNASIUM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WITH_GYMNASIUM[name]), name)


register()
