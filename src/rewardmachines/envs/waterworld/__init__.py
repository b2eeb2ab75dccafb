"""WaterWorld, as published."""

from rewardmachines.envs.waterworld.environment import Action, Memory, State, WaterWorld, World, build_world
from rewardmachines.envs.waterworld.instances import BASE_SEEDS, INSTANCES, Instance, Setting, instance, instances

__all__ = [
    "BASE_SEEDS",
    "INSTANCES",
    "Action",
    "Instance",
    "Memory",
    "Setting",
    "State",
    "WaterWorld",
    "World",
    "build_world",
    "instance",
    "instances",
]
