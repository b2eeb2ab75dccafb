"""The command `hrm compile`: a task expression becomes a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import tyro

from rewardmachines.cli.shared import Command, Flag, Output, log, write_hierarchy
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import TaskFile, load_tasks
from rewardmachines.language import Ignored, tie_of

_LONGEST: Final = 200
"""Characters of a formula, or of the steps of a task, that are shown."""


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
    """The task, for example "(wheat & chicken) ; table"."""
    tasks: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A task file (YAML) whose tasks the expression may use."""
    task: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=EXPR")] = ()
    """A task that the expression may use; repeat for more."""
    avoid: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="PROPOSITION")] = ()
    """A proposition that fails the task; repeat for more."""
    tie: Annotated[str | None, tyro.conf.arg(metavar="neither|left|right")] = None
    """The side that a label starts which could start both sides of & or |; neither, unless the task file says so."""
    name: Annotated[str, tyro.conf.arg(metavar="NAME")] = "task"
    """The name of the root."""
    output: Output = None
    """The file to write; standard output if not given."""
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
        ignored: list[Ignored] = []
        compiled = merged.compile(self.expression, name=self.name, watch=ignored.append)
        write_hierarchy(compiled, self.output, as_json=self.json)
        for each in ignored:
            log(_line(each))
        return 0


def _line(ignored: Ignored) -> str:
    """The labels that are ignored because of a tie, in a line of text."""
    formula, sides = f" that satisfy '{ignored.labels}'", f"of {', '.join(ignored.sides)}"
    which = formula if len(formula) <= _LONGEST else ""
    steps = sides if len(sides) <= _LONGEST else "steps"
    return f"{ignored.task}: labels{which} are ignored, for they start several {steps} (see --tie)"


def _name_and_expression(text: str) -> tuple[str, str]:
    name, equals, expression = text.partition("=")
    if not equals or not name.strip():
        raise RewardMachineError(f"--task {text!r}: write NAME=EXPR, for example paper='sugarcane ; workbench'")
    return name.strip(), expression
