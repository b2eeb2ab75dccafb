"""The command `hrm library`: the hierarchies that come with the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.table import Table

from rewardmachines.cli.domains import load_domain_of, load_offered_domains
from rewardmachines.cli.shared import Command, Flag, Output, console, write_hierarchy, write_json
from rewardmachines.library import find, names, task_sets


@dataclass(frozen=True)
class Library(Command):
    """List the hierarchies that come with the package, or print one of them."""

    name: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")] = None
    """For example craftworld/cake+lava; without it, everything is listed."""
    output: Output = None
    """The file to write; standard output if not given."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        if self.name is not None:
            load_domain_of(self.name)
            write_hierarchy(find(self.name), self.output, as_json=self.json)
            return 0
        load_offered_domains()
        if self.json:
            write_json(names())
        else:
            self._list()
        return 0

    def _list(self) -> None:
        for known in task_sets():
            hint = f" (add +{known.dead_end} for dead ends)" if known.dead_end else ""
            table = Table("name", "level", "task", title=f"{known.title}{hint}")
            for name, expression in known.tasks.items():
                table.add_row(f"{known.name}/{name}", str(known.hierarchy(name).height), expression)
            console().print(table)
        table = Table("name", "what", title="From the paper")
        for name in names():
            if name.partition("/")[0] in ("figures", "exponential"):
                table.add_row(name, "any height: exponential/HEIGHT" if name.startswith("exp") else "as drawn")
        console().print(table)
