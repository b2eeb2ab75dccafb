"""The task of the hierarchical agent: hierarchies, and the options that can be chosen in them."""

from __future__ import annotations

from rewardmachines.agents.options.tables import OptionTables
from rewardmachines.agents.protocol import Task


class OptionTask(Task):
    """The hierarchies of a task, and the options that can be chosen in them."""

    options: OptionTables
