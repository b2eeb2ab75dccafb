"""The command `hrm export`: a hierarchy in the format of another program."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

import tyro

from rewardmachines.cli.shared import (
    Command,
    Output,
    is_trace_file,
    naming_lines,
    read_callables,
    read_hierarchy,
    write_text,
)
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.drawing import to_dot, to_mermaid
from rewardmachines.exchange import to_asp, to_hoa
from rewardmachines.files import load_traces, parse_word
from rewardmachines.learning import learning_task
from rewardmachines.learning.ilasp import to_ilasp


class Format(Enum):
    """The formats of `hrm export`."""

    DOT = "dot"
    MERMAID = "mermaid"
    HOA = "hoa"
    ASP = "asp"
    ILASP = "ilasp"


@dataclass(frozen=True)
class Export(Command):
    """Write a hierarchy in the format of another program.

    dot: Graphviz. mermaid: diagrams in Markdown. hoa: the Hanoi format of omega-automata, for flat machines. asp: the
    paper's rules for clingo, which derives accept or reject if a trace is given. ilasp: not a machine but a learning
    task, from --traces and --callable, as a file for ILASP.
    """

    to: Annotated[Format, tyro.conf.EnumChoicesFromValues]
    """The format."""
    file: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")] = None
    """A machine file or a name from the library."""
    trace: Annotated[str | None, tyro.conf.arg(metavar="TRACE")] = None
    """With asp: labels such as "iron {} table", or a trace file with one trace."""
    traces: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE")] = ()
    """With ilasp: trace files."""
    callable: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE")] = ()
    """With ilasp: machines that may be called."""
    states: int = 3
    """With ilasp: the number of states of the machine, the rejecting one not counted."""
    output: Output = None
    """The file to write; standard output if not given."""

    def run(self) -> int:
        if self.trace is not None and self.to is not Format.ASP:
            raise RewardMachineError("--trace goes with --to asp only")
        if (self.to is Format.ILASP) != bool(self.traces) or (self.to is Format.ILASP) != (self.file is None):
            raise RewardMachineError(
                "--to ilasp takes --traces and no FILE; the other formats take a FILE and no --traces"
            )
        write_text(self._text(), self.output)
        return 0

    def _text(self) -> str:
        if self.file is None:
            traces = [trace for path in self.traces for trace in load_traces(path)]
            with naming_lines(self.traces):
                task = learning_task(traces, callables=read_callables(self.callable))
            return to_ilasp(task, self.states)
        hierarchy = read_hierarchy(self.file)
        match self.to:
            case Format.DOT:
                return to_dot(hierarchy)
            case Format.MERMAID:
                return to_mermaid(hierarchy)
            case Format.HOA:
                return to_hoa(hierarchy)
            case _:
                return to_asp(hierarchy, None if self.trace is None else _one_trace(self.trace))


def _one_trace(text: str) -> tuple[frozenset[str], ...]:
    if not is_trace_file(text):
        return parse_word(text)
    traces = load_traces(text)
    if len(traces) != 1:
        raise RewardMachineError(f"{text}: exactly one trace is needed, not {len(traces)}")
    return traces[0].labels
