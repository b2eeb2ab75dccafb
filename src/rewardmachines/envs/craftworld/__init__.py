"""CraftWorld, as published."""

from rewardmachines.envs.craftworld.environment import CraftWorld, Memory, Observation, State, World, build_world
from rewardmachines.envs.craftworld.instances import BASE_SEEDS, INSTANCES, Instance, Setting, instance, instances
from rewardmachines.envs.craftworld.things import Action, Thing

__all__ = [
    "BASE_SEEDS",
    "INSTANCES",
    "Action",
    "CraftWorld",
    "Instance",
    "Memory",
    "Observation",
    "Setting",
    "State",
    "Thing",
    "World",
    "build_world",
    "instance",
    "instances",
]
