"""Commands that show a hierarchy to people or to other programs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import tyro

from rewardmachines.cli.command import Command, File, Output, put_text, read_hierarchy, tell
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.drawing import Engine, save_drawing, to_dot, to_mermaid
from rewardmachines.exchange import to_asp, to_hoa
from rewardmachines.files import load_traces, parse_word


@dataclass(frozen=True)
class Draw(Command):
    """Draw a hierarchy, one panel for each machine."""

    file: File
    """A machine file or a name from the library."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="PATH")]
    """The picture: .svg or .png (or .dot, .mmd)."""
    engine: Annotated[Engine, tyro.conf.EnumChoicesFromValues] = Engine.AUTO
    """Who lays it out: Graphviz, our own engine, or (auto) Graphviz where it is installed."""

    def run(self) -> int:
        save_drawing(read_hierarchy(self.file), self.output, engine=self.engine)
        tell(f"wrote {self.output}")
        return 0


class Format(Enum):
    """What `hrm export` writes."""

    DOT = "dot"
    MERMAID = "mermaid"
    HOA = "hoa"
    ASP = "asp"


@dataclass(frozen=True)
class Export(Command):
    """Write a hierarchy in the format of another program.

    dot: Graphviz. mermaid: diagrams in Markdown. hoa: the Hanoi format of omega-automata, for flat machines. asp: the
    paper's rules for clingo, which derives accept or reject if a trace is given.
    """

    file: File
    """A machine file or a name from the library."""
    to: Annotated[Format, tyro.conf.EnumChoicesFromValues]
    """The format."""
    trace: Annotated[str | None, tyro.conf.arg(metavar="TRACE")] = None
    """With asp: labels such as "iron {} table", or a trace file with one trace."""
    output: Output = None
    """Where to write it; standard output if not given."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        if self.trace is not None and self.to is not Format.ASP:
            raise RewardMachineError("--trace goes with --to asp only")
        match self.to:
            case Format.DOT:
                text = to_dot(hierarchy)
            case Format.MERMAID:
                text = to_mermaid(hierarchy)
            case Format.HOA:
                text = to_hoa(hierarchy)
            case Format.ASP:
                text = to_asp(hierarchy, None if self.trace is None else _one_trace(self.trace))
        put_text(text, self.output)
        return 0


def _one_trace(text: str) -> tuple[frozenset[str], ...]:
    if not Path(text).is_file():
        return parse_word(text)
    traces = load_traces(text)
    if len(traces) != 1:
        raise RewardMachineError(f"{text}: exactly one trace is needed, not {len(traces)}")
    return traces[0].labels
