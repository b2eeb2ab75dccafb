"""The command `hrm compile`: a task expression, a formula or an automaton becomes a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import tyro

from rewardmachines.cli.shared import (
    AUTOMATON_SUFFIXES,
    Command,
    Flag,
    Output,
    exists,
    log,
    read_automaton,
    write_hierarchy,
)
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import TaskFile, load_tasks
from rewardmachines.files.document import read_text
from rewardmachines.language import FormalTask, Ignored, Note, read_task, tie_of

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

    With --ltlf, the task is a formula of linear temporal logic on finite traces, such as "F(key & F door) & G !lava";
    with --regex, a regular expression over labels, such as "key ; .* ; door". EXPR may also be a file: a formula
    (.ltlf), or an automaton of another program (.hoa, .dot).
    """

    expression: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="EXPR")]
    """The task, for example "(wheat & chicken) ; table"."""
    ltlf: Flag = False
    """The task is an LTLf formula; the same as 'ltlf: FORMULA'."""
    regex: Flag = False
    """The task is a regular expression over labels; the same as 'regex: EXPRESSION'."""
    accept: Annotated[str | None, tyro.conf.arg(metavar="first|decided")] = None
    """When a formula, a regular expression or an automaton of finite traces accepts: as soon as the labels so far
    satisfy it (first, the default), or once all that may follow do (decided)."""
    end: Annotated[str | None, tyro.conf.arg(metavar="PROPOSITION")] = None
    """Judge it when this proposition is seen; the label with it is not part of what is judged."""
    next: Annotated[str | None, tyro.conf.arg(metavar="strong|weak")] = None
    """The reading of a bare X of LTLf at the last label: false there (strong), or true (weak)."""
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
        if Path(self.expression).suffix.lower() in AUTOMATON_SUFFIXES and exists(self.expression):
            self._check_plain()
            write_hierarchy(
                read_automaton(Path(self.expression), self.accept, self.end), self.output, as_json=self.json
            )
            return 0
        file = load_tasks(self.tasks) if self.tasks else TaskFile({})
        merged = TaskFile(
            {**file.tasks, **dict(map(_name_and_expression, self.task))},
            file.propositions,
            (*file.avoid, *self.avoid),
            file.tie if self.tie is None else tie_of(self.tie),
        )
        notes: list[Note] = []
        compiled = merged.compile(self._task(), name=self.name, watch=notes.append)
        write_hierarchy(compiled, self.output, as_json=self.json)
        for note in notes:
            log(_line(note) if isinstance(note, Ignored) else f"{shortened_text(note.formula)}: {note}")
        return 0

    def _check_plain(self) -> None:
        """Refuses what an automaton cannot have."""
        given = {
            "--ltlf": self.ltlf, "--regex": self.regex, "--next": self.next, "--tasks": self.tasks, "--task": self.task,
            "--avoid": self.avoid, "--tie": self.tie,
        }  # fmt: skip
        for option, value in given.items():
            if value:
                raise RewardMachineError(f"{option}: {self.expression} is an automaton, which has none")

    def _task(self) -> str | FormalTask:
        """The task that the words ask for.

        Raises:
            RewardMachineError: Two languages are asked for, or something that the language does not have.
        """
        if self.ltlf and self.regex:
            raise RewardMachineError("--ltlf and --regex: choose one language")
        text, language = self.expression, "ltlf" if self.ltlf else "regex" if self.regex else None
        if Path(text).suffix.lower() == ".ltlf" and exists(text):
            text, language = read_text(text), language or "ltlf"
        if language is not None:
            return FormalTask(language, text, self.accept, self.end, self.next)
        task = read_task(text)
        chosen = {"accept": self.accept, "end": self.end, "next": self.next}
        given = {key: value for key, value in chosen.items() if value is not None}
        if isinstance(task, FormalTask):
            return replace(task, **given)
        if given:
            raise RewardMachineError(
                f"--{next(iter(given))}: a task expression has no such choice; add --ltlf or --regex"
            )
        return task


def shortened_text(text: str) -> str:
    """The text, or its beginning if it is long."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


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
