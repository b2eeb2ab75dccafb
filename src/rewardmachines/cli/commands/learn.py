"""The command `hrm learn`: machines and policies of all tasks, from interaction alone."""

from rewardmachines.cli.learn import Learn

__all__ = ["Learn"]
