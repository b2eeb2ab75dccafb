"""Commands that make a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from rewardmachines.cli.command import (
    Command,
    File,
    Flag,
    LabelChoice,
    Output,
    console,
    put_hierarchy,
    put_json,
    read_hierarchy,
    read_labels,
    tell,
)
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.minimization import minimize
from rewardmachines.core.sizes import Size, size
from rewardmachines.files import TaskFile, load_tasks
from rewardmachines.language import tie_of
from rewardmachines.library import DOMAINS, domain, find, names, task


@dataclass(frozen=True)
class Compile(Command):
    """Compile a task expression to a hierarchy.

    `a ; b`: a, then b.
    `a & b`: both, in any order, one at a time.
    `a | b`: one of them, the one that starts first.
    `[a & !b]`: a label that satisfies a formula.
    `avoid lava`, at the end: seeing lava fails the task.

    Names are propositions, or tasks given with --tasks or --task; only such tasks become machines of their own.
    """

    expression: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="EXPR")]
    """What to do, for example "(wheat & chicken) ; table"."""
    tasks: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A task file (YAML) whose tasks the expression may use."""
    task: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=EXPR")] = ()
    """A task that the expression may use; repeat for more."""
    avoid: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="PROPOSITION")] = ()
    """A proposition that fails the task; repeat for more."""
    tie: Annotated[str | None, tyro.conf.arg(metavar="neither|left|right")] = None
    """What moves on a label that could start both sides of & or |; neither, unless the task file says otherwise."""
    name: str = "task"
    """What to call the root."""
    output: Output = None
    """Where to write it; standard output if not given."""
    json: Flag = False
    """Print JSON instead of YAML."""

    def run(self) -> int:
        file = load_tasks(self.tasks) if self.tasks else TaskFile({})
        merged = TaskFile(
            {**file.tasks, **dict(map(_name_and_expression, self.task))},
            file.propositions,
            (*file.avoid, *self.avoid),
            file.tie if self.tie is None else tie_of(self.tie),
        )
        put_hierarchy(merged.compile(self.expression, name=self.name), self.output, as_json=self.json)
        return 0


def _name_and_expression(text: str) -> tuple[str, str]:
    name, equals, expression = text.partition("=")
    if not equals or not name.strip():
        raise RewardMachineError(f"--task {text!r}: write NAME=EXPR, for example paper='sugarcane ; workbench'")
    return name.strip(), expression


@dataclass(frozen=True)
class Flatten(Command):
    """Write a hierarchy as one machine without calls (Theorem 1)."""

    file: File
    """A machine file or a name from the library."""
    minimize: Flag = False
    """Minimize the flat machine, too."""
    output: Output = None
    """Where to write it; standard output if not given."""
    json: Flag = False
    """Print JSON instead of YAML."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        flat = flatten(hierarchy)
        result = minimize(flat) if self.minimize else flat
        _tell_sizes(size(hierarchy), size(result))
        put_hierarchy(result, self.output, as_json=self.json)
        return 0


@dataclass(frozen=True)
class Minimize(Command):
    """Remove states, edges, literals and machines that add nothing.

    A flat machine becomes the smallest one; a hierarchy is minimized machine by machine.
    """

    file: File
    """A machine file or a name from the library."""
    labels: LabelChoice = "all"
    """The labels that can occur: all of them, those of at most one proposition, or those that satisfy a formula."""
    output: Output = None
    """Where to write it; standard output if not given."""
    json: Flag = False
    """Print JSON instead of YAML."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        result = minimize(hierarchy, read_labels(self.labels, hierarchy))
        _tell_sizes(size(hierarchy), size(result))
        put_hierarchy(result, self.output, as_json=self.json)
        return 0


def _tell_sizes(before: Size, after: Size) -> None:
    tell(f"{before.states} states, {before.edges} edges -> {after.states} states, {after.edges} edges")


@dataclass(frozen=True)
class Library(Command):
    """List the hierarchies that come with the package, or print one of them."""

    name: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")] = None
    """For example craftworld/cake+lava; without it, everything is listed."""
    output: Output = None
    """Where to write it; standard output if not given."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        if self.name is not None:
            put_hierarchy(find(self.name), self.output, as_json=self.json)
        elif self.json:
            put_json(names())
        else:
            self._list()
        return 0

    def _list(self) -> None:
        for known in map(domain, DOMAINS):
            table = Table("name", "level", "task", title=f"{known.title} (add +{known.dead_end} for dead ends)")
            for name, expression in known.tasks.items():
                table.add_row(f"{known.name}/{name}", str(task(known.name, name).height), expression)
            console().print(table)
        table = Table("name", "what", title="From the paper")
        for name in names():
            if not name.startswith(DOMAINS):
                table.add_row(name, "any height: exponential/HEIGHT" if name.startswith("exp") else "as drawn")
        console().print(table)
