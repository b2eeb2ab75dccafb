"""WaterWorld, as published."""

from rewardmachines.envs.waterworld.environment import (
    WaterAction,
    WaterArrays,
    WaterMemory,
    WaterState,
    WaterWorld,
    build_world,
)
from rewardmachines.envs.waterworld.instances import (
    BASE_SEEDS,
    INSTANCES,
    WaterInstance,
    WaterSetting,
    instance,
    instances,
)

__all__ = [
    "BASE_SEEDS",
    "INSTANCES",
    "WaterAction",
    "WaterArrays",
    "WaterInstance",
    "WaterMemory",
    "WaterSetting",
    "WaterState",
    "WaterWorld",
    "build_world",
    "instance",
    "instances",
]
