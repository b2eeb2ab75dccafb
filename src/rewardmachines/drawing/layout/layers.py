"""States and labels in alternating columns, with every edge a chain of cells in neighbouring columns.

Everything here leads to the right; a drawing that leads down is laid out like this and then turned.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

Arc: TypeAlias = tuple[int, int]
"""An edge between two different states, by their numbers."""

MAX_SPAN: Final = 12_000
"""Where all edges together are longer, there are fewer columns, at the price of more edges that lead back."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """`flipped` says of each arc whether it leads to the left; state 0 stands leftmost."""

    ranks: tuple[int, ...]
    flipped: tuple[bool, ...]

    def span(self, arcs: Sequence[Arc]) -> int:
        """The number of columns that all edges cross together."""
        return sum(abs(self.ranks[target] - self.ranks[source]) for source, target in arcs)


def rank(count: int, arcs: Sequence[Arc]) -> Ranking:
    """State 0 is the initial one."""
    deep = _ranked(count, arcs, _depth_first(count, arcs))
    if deep.span(arcs) <= MAX_SPAN:
        return deep
    broad = _ranked(count, arcs, _breadth_first(count, arcs))
    return min(deep, broad, key=lambda ranking: ranking.span(arcs))


def _ranked(count: int, arcs: Sequence[Arc], order: Sequence[int]) -> Ranking:
    """Longest paths along `order`; the arcs against it are flipped."""
    position = {state: index for index, state in enumerate(order)}
    flipped = tuple(position[target] < position[source] for source, target in arcs)
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for (source, target), flip in zip(arcs, flipped, strict=True):
        left, right = (target, source) if flip else (source, target)
        after[left].append(right)
        before[right].append(left)
    ranks = [0] * count
    for state in order:
        ranks[state] = max((ranks[left] + 1 for left in before[state]), default=0)
    for state in reversed(order):
        if state and len(after[state]) > len(before[state]):
            ranks[state] = min(ranks[right] for right in after[state]) - 1
    last = max(ranks)
    alone = [state for state in range(1, count) if not after[state] and not before[state]]
    for state in alone:
        ranks[state] = last
    return Ranking(tuple(ranks), flipped)


def _depth_first(count: int, arcs: Sequence[Arc]) -> list[int]:
    """Reverse postorder: only arcs that close a circle, or enter the initial state, go against it."""
    targets = _targets(count, arcs)
    finished: list[int] = []
    seen = [False] * count
    for start in range(count):
        if not seen[start]:
            _finish(start, targets, seen, finished)
    return [0, *(state for state in reversed(finished) if state != 0)]


def _finish(start: int, targets: Sequence[Sequence[int]], seen: list[bool], finished: list[int]) -> None:
    seen[start] = True
    path = [(start, iter(targets[start]))]
    while path:
        state, ahead = path[-1]
        following = next((target for target in ahead if not seen[target]), None)
        if following is None:
            finished.append(state)
            path.pop()
        else:
            seen[following] = True
            path.append((following, iter(targets[following])))


def _breadth_first(count: int, arcs: Sequence[Arc]) -> list[int]:
    targets = _targets(count, arcs)
    order: dict[int, None] = {}
    for start in range(count):
        queue = deque([start])
        while queue:
            state = queue.popleft()
            if state not in order:
                order[state] = None
                queue.extend(target for target in targets[state] if target not in order)
    return list(order)


def _targets(count: int, arcs: Sequence[Arc]) -> list[list[int]]:
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in arcs:
        targets[source].append(target)
    return targets


Links: TypeAlias = list[list[int]]


class Footprint(NamedTuple):
    """The space of a state or label: along its column, and above and below its middle."""

    width: float
    above: float
    below: float


class CellKind(Enum):
    """The kinds of cells: a state, the label of an edge, or an edge that passes by."""

    STATE = auto()
    LABEL = auto()
    PASSAGE = auto()


@dataclass(frozen=True, slots=True)
class Cell:
    """Something in a column: `number` is that of the state, or of the edge whose label it is or that passes by."""

    kind: CellKind
    number: int
    column: int
    width: float
    above: float
    below: float


@dataclass(frozen=True, slots=True)
class EdgeChain:
    """The cells of an edge from left to right; `flipped` if the edge itself leads to the left."""

    cells: tuple[int, ...]
    flipped: bool


@dataclass(frozen=True, slots=True)
class Layers:
    """Places are referred to by number; states come first, in their own order.

    `starts` are the columns at which rows of columns begin, like lines of text. Every edge that leads from one row to
    the next passes by in the last column of the one and in the first of the other.
    """

    cells: tuple[Cell, ...]
    columns: tuple[tuple[int, ...], ...]
    chains: tuple[EdgeChain, ...]
    starts: tuple[int, ...] = (0,)

    def rows(self) -> list[range]:
        """The columns of each row."""
        return [range(a, b) for a, b in pairwise((*self.starts, len(self.columns)))]

    def links(self) -> tuple[Links, Links]:
        """The neighbours of each cell in the column to its left, and to its right."""
        left: Links = [[] for _ in self.cells]
        right: Links = [[] for _ in self.cells]
        for chain in self.chains:
            for a, b in pairwise(chain.cells):
                right[a].append(b)
                left[b].append(a)
        return left, right


def build_layers(
    states: Sequence[Footprint],
    arcs: Sequence[Arc],
    labels: Sequence[Footprint],
    ranking: Ranking,
    breaks: Sequence[int] = (),
) -> Layers:
    """Puts states, labels and passing edges into columns.

    Args:
        states: The initial one is the first.
        arcs: The edges, none of which is a self-loop.
        labels: The labels of the arcs.
        ranking: In which column each state stands, labels not counted.
        breaks: The ranks after whose labels a row of columns ends.
    """
    column = _Columns(breaks)
    cells = [Cell(CellKind.STATE, i, column.of_state(ranking.ranks[i]), *room) for i, room in enumerate(states)]
    spans = [_span(ranking.ranks[a], ranking.ranks[b]) for a, b in arcs]
    label_columns = _label_columns(spans, [label.width for label in labels])
    chains: list[EdgeChain] = []
    for number, ((source, target), flipped) in enumerate(zip(arcs, ranking.flipped, strict=True)):
        first, last = (target, source) if flipped else (source, target)
        start = len(cells)
        for place in column.passed(spans[number]):
            if place == column.of(label_columns[number]):
                cells.append(Cell(CellKind.LABEL, number, place, *labels[number]))
            else:
                cells.append(Cell(CellKind.PASSAGE, number, place, *_NOTHING))
        chains.append(EdgeChain((first, *range(start, len(cells)), last), flipped))
    columns: list[list[int]] = [[] for _ in range(column.of_state(max(ranking.ranks)) + 1)]
    for index, cell in enumerate(cells):
        columns[cell.column].append(index)
    return Layers(tuple(cells), tuple(map(tuple, columns)), tuple(chains), column.starts())


_NOTHING: Final = Footprint(0.0, 0.0, 0.0)


class _Columns:
    """Numbers of columns: with two more, where edges turn, for each break between a label's column and the next."""

    def __init__(self, breaks: Sequence[int]) -> None:
        self._broken = sorted(2 * rank + 1 for rank in breaks)

    def of(self, column: int) -> int:
        return column + 2 * bisect_left(self._broken, column)

    def of_state(self, rank: int) -> int:
        return self.of(2 * rank)

    def passed(self, span: range) -> Iterable[int]:
        """All columns of a span, those where edges turn included."""
        return range(self.of(span[0]), self.of(span[-1] + 1))

    def starts(self) -> tuple[int, ...]:
        return (0, *(self.of(column) + 2 for column in self._broken))


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
