"""The Gymnasium ids of the built-in environments."""

from __future__ import annotations

from typing import Final

from rewardmachines.envs.domain import Domain
from rewardmachines.envs.registry import BUILT_IN


def identifiers(domain: Domain) -> dict[str, tuple[str, str]]:
    """The Gymnasium ids of a domain, each with the domain's name and a setting."""
    return {
        f"rewardmachines/{domain.title}-{setting.upper()}-v0": (domain.name, setting) for setting in domain.settings
    }


IDS: Final = {identifier: what for known in BUILT_IN.values() for identifier, what in identifiers(known).items()}


def register() -> None:
    """Makes `gymnasium.make("rewardmachines/CraftWorld-OP-v0", task="book")` work; also `make_vec`."""
    import gymnasium  # here, because training must not need it

    for identifier, (name, setting) in IDS.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point="rewardmachines.envs.gymnasium.single:ScenarioEnv",
                vector_entry_point="rewardmachines.envs.gymnasium.vector:ScenarioVectorEnv",
                kwargs={"domain": name, "setting": setting},
            )
