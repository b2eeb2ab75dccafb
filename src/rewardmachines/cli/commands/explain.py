"""The command `hrm explain`: a hierarchy in words."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.cli.shared import Command, File, Flag, read_hierarchy, say, write_json
from rewardmachines.language import explain, task_expression


@dataclass(frozen=True)
class Explain(Command):
    """Say in words what moves a hierarchy, and give a task expression for it if it is one.

    The expression has the same verdict on every trace: it is compiled back and compared.

    Try:
      hrm explain craftworld/cake
      hrm explain runs/mine/machines/task.yaml
    """

    file: File
    """A machine file, an automaton (.hoa, .dot), or a name from the library."""
    json: Flag = False
    """Print JSON: the expression and the tasks that it uses, or null."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        if self.json:
            found = task_expression(hierarchy)
            write_json(None if found is None else {"expression": found.expression, "tasks": found.tasks})
        else:
            say(explain(hierarchy))
        return 0
