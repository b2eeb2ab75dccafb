"""The command `hrm draw`: a picture of a hierarchy."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rewardmachines.cli.shared import Command, File, Flag, check_propositions, log, read_hierarchy
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, traverse
from rewardmachines.drawing import LayoutEngine, draw
from rewardmachines.drawing.options import STANDARD, Background, Direction, Theme
from rewardmachines.files import parse_word
from rewardmachines.traces import Trace


@dataclass(frozen=True)
class Draw(Command):
    """Draw a hierarchy, one panel for each machine.

    Try:
      hrm draw craftworld/book -o book.svg
      hrm draw craftworld/book -o book.pdf --background white --width 460
      hrm draw craftworld/book -o book.svg --trace "sugarcane"
    """

    file: File
    """A machine file or a name from the library."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="PATH")]
    """The picture: .svg, .pdf or .png (or .dot, .mmd, .md)."""
    direction: Direction = "auto"
    """The direction of edges. auto: to the right, or down where a machine is too wide for the page and fits better."""
    width: Annotated[float, tyro.conf.arg(metavar="UNITS")] = STANDARD.width
    """The width of the page; letters of labels are 12 units high, and 4 units of a PDF are 3 points. Wider machines get
        rows."""
    theme: Theme = "light"
    """Dark letters on light panels, or light ones on dark panels."""
    background: Background = "tinted"
    """The background of the panels: a tint that suits the theme, white, or nothing."""
    machine: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Draw only this machine of the hierarchy."""
    trace: Annotated[str | None, tyro.conf.arg(metavar="LABELS")] = None
    """Light the state to which these labels lead, such as "iron {} table", and those of the callers that wait."""
    events: Flag = False
    """Of the labels of --trace, only those that differ from the one before move the hierarchy, as in environments."""
    no_titles: Flag = False
    """Leave out the names of machines."""
    no_frames: Flag = False
    """Leave out the panels behind machines."""
    scale: Annotated[float, tyro.conf.arg(metavar="PIXELS")] = 2.0
    """The scale of a PNG: pixels for each unit."""
    engine: Annotated[LayoutEngine, tyro.conf.EnumChoicesFromValues] = LayoutEngine.BUILTIN
    """The layout engine: our own, or Graphviz, which must be installed."""

    def run(self) -> int:
        hierarchy = read_hierarchy(self.file)
        drawing = draw(
            hierarchy,
            at=None if self.trace is None else _state_after(hierarchy, self.trace, events=self.events),
            direction=self.direction,
            width=self.width,
            theme=self.theme,
            background=self.background,
            machine=self.machine,
            titles=not self.no_titles,
            frames=not self.no_frames,
            engine=self.engine,
            scale=self.scale,
        )
        drawing.save(self.output)
        log(f"wrote {self.output}")
        return 0


def _state_after(hierarchy: Hierarchy, word: str, *, events: bool) -> HierarchyState:
    """The hierarchy state after these labels."""
    trace = Trace(parse_word(word))
    check_propositions(hierarchy, [trace])
    (state,) = deque(traverse(hierarchy, trace.labels, events=events), maxlen=1)
    return state
