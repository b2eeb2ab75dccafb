"""CraftWorld, as published."""

from rewardmachines.envs.craftworld.environment import (
    CraftArrays,
    CraftMemory,
    CraftState,
    CraftWorld,
    Observation,
    build_world,
)
from rewardmachines.envs.craftworld.instances import (
    BASE_SEEDS,
    INSTANCES,
    CraftInstance,
    CraftSetting,
    instance,
    instances,
)
from rewardmachines.envs.craftworld.things import CraftAction, Thing

__all__ = [
    "BASE_SEEDS",
    "INSTANCES",
    "CraftAction",
    "CraftArrays",
    "CraftInstance",
    "CraftMemory",
    "CraftSetting",
    "CraftState",
    "CraftWorld",
    "Observation",
    "Thing",
    "build_world",
    "instance",
    "instances",
]
