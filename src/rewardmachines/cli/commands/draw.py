"""The command `hrm draw`: a picture of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rewardmachines.cli.shared import (
    Command,
    File,
    read_hierarchy,
    tell,
)
from rewardmachines.drawing import Engine, save_drawing


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
