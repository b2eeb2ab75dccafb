"""States and labels in alternating columns, with every edge a chain of cells in neighbouring columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import TypeAlias

from rewardmachines.drawing.layout.measures import LabelFigure, StateFigure
from rewardmachines.drawing.layout.ranking import Arc, rank

Links: TypeAlias = list[list[int]]


class Kind(Enum):
    """What a cell holds: a state, the label of an edge, or an edge that passes by."""

    STATE = auto()
    LABEL = auto()
    PASSAGE = auto()


@dataclass(frozen=True, slots=True)
class Cell:
    """Something in a column: `number` is that of the state, or of the edge whose label it is or that passes by."""

    kind: Kind
    number: int
    column: int
    width: float
    above: float
    below: float


@dataclass(frozen=True, slots=True)
class Chain:
    """The cells of an edge from left to right; `flipped` if the edge itself leads to the left."""

    cells: tuple[int, ...]
    flipped: bool


@dataclass(frozen=True, slots=True)
class Layers:
    """Places are referred to by number; states come first, in their own order."""

    cells: tuple[Cell, ...]
    columns: tuple[tuple[int, ...], ...]
    chains: tuple[Chain, ...]

    def links(self) -> tuple[Links, Links]:
        """The neighbours of each cell in the column to its left, and to its right."""
        left: Links = [[] for _ in self.cells]
        right: Links = [[] for _ in self.cells]
        for chain in self.chains:
            for a, b in pairwise(chain.cells):
                right[a].append(b)
                left[b].append(a)
        return left, right


def build_layers(states: Sequence[StateFigure], arcs: Sequence[Arc], labels: Sequence[LabelFigure]) -> Layers:
    """State 0 is the initial one; `labels` belong to `arcs`, none of which is a self-loop."""
    ranking = rank(len(states), arcs)
    cells = [
        Cell(
            kind=Kind.STATE,
            number=number,
            column=2 * ranking.ranks[number],
            width=state.room_width,
            above=state.room_above,
            below=state.height / 2,
        )
        for number, state in enumerate(states)
    ]
    spans = [_span(ranking.ranks[a], ranking.ranks[b]) for a, b in arcs]
    label_columns = _label_columns(spans, [label.width for label in labels])
    chains: list[Chain] = []
    for number, ((source, target), flipped) in enumerate(zip(arcs, ranking.flipped, strict=True)):
        first, last = (target, source) if flipped else (source, target)
        inner = range(len(cells), len(cells) + len(spans[number]))
        for column in spans[number]:
            if column == label_columns[number]:
                half = labels[number].height / 2
                cells.append(
                    Cell(
                        kind=Kind.LABEL,
                        number=number,
                        column=column,
                        width=labels[number].width,
                        above=half,
                        below=half,
                    )
                )
            else:
                cells.append(Cell(kind=Kind.PASSAGE, number=number, column=column, width=0, above=0, below=0))
        chains.append(Chain((first, *inner, last), flipped))
    columns: list[list[int]] = [[] for _ in range(2 * max(ranking.ranks) + 1)]
    for index, cell in enumerate(cells):
        columns[cell.column].append(index)
    return Layers(tuple(cells), tuple(map(tuple, columns)), tuple(chains))


def _span(a: int, b: int) -> range:
    """The columns strictly between two ranks; odd ones hold labels."""
    return range(2 * min(a, b) + 1, 2 * max(a, b))


def _label_columns(spans: Sequence[range], widths: Sequence[float]) -> list[int]:
    """A column for each label: where it widens the picture least, then nearest to the middle of its edge."""
    widest: dict[int, float] = {}
    chosen = [0] * len(spans)
    for number in sorted(range(len(spans)), key=lambda n: len(spans[n])):
        span, width = spans[number], widths[number]
        middle = (span[0] + span[-1]) / 2
        column = min(span[::2], key=lambda c: (max(width - widest.get(c, 0.0), 0.0), abs(c - middle), c))
        widest[column] = max(width, widest.get(column, 0.0))
        chosen[number] = column
    return chosen
