"""The command `hrm play`: acting by hand or at random, with the hierarchy beside the picture."""

from rewardmachines.cli.playing import Play

__all__ = ["Play"]
