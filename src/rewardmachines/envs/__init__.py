"""Environments whose states are labelled with propositions: the paper's two domains, and yours.

The wrappers for your own environments (`LabelingWrapper`, `NoisyLabels`, `HierarchyWrapper`, `DiscreteActions`,
`MiniGridLabels`) need Gymnasium alone (the extra `gym`); the domains need JAX (the extra `train`). Where both are
installed, importing this package registers `rewardmachines/CraftWorld-OP-v0` and its siblings.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from rewardmachines.files.extras import TRAINING, explain_missing

if TYPE_CHECKING:
    from rewardmachines.envs.episodes import Episode, EpisodeStep, advance, advance_or_begin, begin
    from rewardmachines.envs.gymnasium.checks import EnvironmentFault, OutOfBoundsWarning
    from rewardmachines.envs.gymnasium.minigrid import MiniGridLabels, MiniGridPlanes, label_minigrid
    from rewardmachines.envs.gymnasium.rewards import Shaping
    from rewardmachines.envs.gymnasium.single import ScenarioEnv
    from rewardmachines.envs.gymnasium.vector import ScenarioVectorEnv
    from rewardmachines.envs.gymnasium.wrappers import DiscreteActions, HierarchyWrapper, LabelingWrapper, NoisyLabels
    from rewardmachines.envs.interface import Environment
    from rewardmachines.envs.registry import IDS, register
    from rewardmachines.envs.scenarios import Scenario, scenario

_HOMES: Final = {
    "DiscreteActions": "gymnasium.wrappers",
    "Environment": "interface",
    "EnvironmentFault": "gymnasium.checks",
    "Episode": "episodes",
    "HierarchyWrapper": "gymnasium.wrappers",
    "IDS": "registry",
    "LabelingWrapper": "gymnasium.wrappers",
    "MiniGridLabels": "gymnasium.minigrid",
    "MiniGridPlanes": "gymnasium.minigrid",
    "NoisyLabels": "gymnasium.wrappers",
    "OutOfBoundsWarning": "gymnasium.checks",
    "Scenario": "scenarios",
    "ScenarioEnv": "gymnasium.single",
    "ScenarioVectorEnv": "gymnasium.vector",
    "Shaping": "gymnasium.rewards",
    "EpisodeStep": "episodes",
    "advance": "episodes",
    "advance_or_begin": "episodes",
    "begin": "episodes",
    "label_minigrid": "gymnasium.minigrid",
    "register": "registry",
    "scenario": "scenarios",
}
"""The modules of all names, which are loaded when they are asked for: the wrappers must not need JAX."""

__all__ = [
    "IDS",
    "DiscreteActions",
    "Environment",
    "EnvironmentFault",
    "Episode",
    "EpisodeStep",
    "HierarchyWrapper",
    "LabelingWrapper",
    "MiniGridLabels",
    "MiniGridPlanes",
    "NoisyLabels",
    "OutOfBoundsWarning",
    "Scenario",
    "ScenarioEnv",
    "ScenarioVectorEnv",
    "Shaping",
    "advance",
    "advance_or_begin",
    "begin",
    "label_minigrid",
    "register",
    "scenario",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with explain_missing(f"rewardmachines.envs.{name}"):
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def _register() -> None:
    try:
        registry = import_module(f"{__name__}.registry")
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in TRAINING:
            raise
    else:
        registry.register()


_register()
