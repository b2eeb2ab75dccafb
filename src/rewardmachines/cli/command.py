"""Names of `shared` under their former module."""

from rewardmachines.cli.shared import Command, Flag, exists, read_hierarchy, tell

__all__ = ["Command", "Flag", "exists", "read_hierarchy", "tell"]
