"""Tables as plain cells, which can be shown or written as Markdown, and cells with ours beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rewardmachines.library.published import Mean as PublishedMean
from rewardmachines.studies.aggregate import Mean

NONE: Final = "–"
"""The sign for a number that is missing."""


@dataclass(frozen=True)
class Table:
    """Cells in rows, with a title, a header and remarks."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...] = ()
    is_detail: bool = False
    """Whether another table sums it up, so that a page may fold it away."""

    def markdown(self) -> str:
        """The header and the rows in Markdown."""
        return "\n".join([_line(self.header), _line(["---"] * len(self.header)), *(_line(row) for row in self.rows)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def times_less(ours: Mean | None, theirs: PublishedMean | None) -> str:
    """The ratio of the paper's number to ours; nothing, if one of them is missing."""
    if ours is None or theirs is None or not ours.value:
        return ""
    ratio = theirs.value / ours.value
    return f"{ratio:,.{0 if ratio >= 100 else 1 if ratio >= 1 else 2}f} ×"


def beside(ours: Mean | None, theirs: PublishedMean | None) -> str:
    """Ours and the paper's, with a dash for what is missing; nothing, if both are."""
    left = NONE if ours is None else str(ours)
    right = NONE if theirs is None else f"{theirs.value:,g} ({theirs.error:g})"
    return f"{left} / {right}" if ours is not None or theirs is not None else ""
