"""The Gymnasium ids of the built-in environments."""

from __future__ import annotations

from typing import Final

from rewardmachines.envs.scenario import SETTINGS
from rewardmachines.library import domain

IDS: Final = {
    f"rewardmachines/{domain(name).title}-{setting.upper()}-v0": (name, setting)
    for name, settings in SETTINGS.items()
    for setting in settings
}


def register() -> None:
    """Makes `gymnasium.make("rewardmachines/CraftWorld-OP-v0", task="book")` work; also `make_vec`."""
    import gymnasium  # here, because training must not need it

    for identifier, (name, setting) in IDS.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point="rewardmachines.envs.gymnasium.environments:ScenarioEnv",
                vector_entry_point="rewardmachines.envs.gymnasium.environments:ScenarioVectorEnv",
                kwargs={"domain": name, "setting": setting},
            )
