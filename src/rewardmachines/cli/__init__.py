"""The command `hrm`."""

from rewardmachines.cli.main import main

__all__ = ["main"]
