"""The table of results as HTML: the numbers of the run large, those of the paper small below them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rewardmachines.library.published import RUNS, Mean
from rewardmachines.reports.page_parts import Markup, tag
from rewardmachines.reports.results_table import NUMBERS, ResultTable, TaskRow

_HEADS: Final = {"time_s": "Time (s)", "calls": "Calls", "states": "States", "edges": "Edges",
                 "first_hrm_episodes": "First ep."}  # fmt: skip
"""The titles of columns that have no subcolumns."""
_OUTCOMES: Final = {"goal": "G", "deadend": "D", "incomplete": "I"}
"""The titles of subcolumns, one for each outcome of a trace."""


def result_rows(
    table: ResultTable, returns: Mapping[str, float | None], differences: Mapping[str, Markup]
) -> list[Markup]:
    """The rows of the table: two of titles, one for each task, and one of totals.

    Args:
        table: The numbers of the run, and those of the paper.
        returns: The mean return of each task in the last evaluations, if it was active in them.
        differences: The cell of each task in the last column, which says whether its hierarchy is wrong.
    """
    columns = [name for name in NUMBERS if table.has_dead_ends or not name.endswith("deadend")]
    rows, before = _header(columns), 1
    for row in table.rows:
        cells = [tag("td", row.name), tag("td", str(row.level)), *_flags(row), *(_number(row, c) for c in columns)]
        cells += [tag("td", _return(returns.get(row.name))), tag("td", differences.get(row.name, Markup("")))]
        rows.append(tag("tr", *cells, class_="level" if row.level != before else "task"))
        before = row.level
    return [*rows, _total(table, len(columns))]


def _header(columns: list[str]) -> list[Markup]:
    outcomes = [_OUTCOMES[name.removeprefix("examples_")] for name in columns if name.startswith("examples_")]
    plain = [_HEADS[name] for name in columns if name in _HEADS]
    single = ["Task", "Level", "# G", "# L", *plain]
    top = [tag("th", name, rowspan="2") for name in single]
    top += [tag("th", name, colspan=str(len(outcomes)), class_="group") for name in ("# Examples", "Example length")]
    top += [tag("th", name, rowspan="2") for name in ("Return", "Differs")]
    return [tag("tr", *top), tag("tr", *(tag("th", name, class_="kind") for name in (*outcomes, *outcomes)))]


def _flags(row: TaskRow) -> list[Markup]:
    paper = (row.paper.with_goal, row.paper.learned) if row.paper is not None else (None, None)
    return [
        tag("td", str(int(ours)), *_small("" if theirs is None else f"{theirs} of {RUNS}"))
        for ours, theirs in zip((row.goal, row.hrm), paper, strict=True)
    ]


def _number(row: TaskRow, column: str) -> Markup:
    ours, theirs = row.numbers[column], row.published(column)
    missing = "" if theirs is None else "–"
    return tag("td", missing if ours is None else number(ours), *_small(_mean(theirs)))


def _total(table: ResultTable, columns: int) -> Markup:
    totals = table.totals
    time, calls = (totals.time_s, totals.calls) if totals is not None else (None, None)
    sums = [
        tag("td", number(table.time_s), *_small(_mean(time))),
        tag("td", number(table.calls), *_small(_mean(calls))),
    ]
    rest = str(columns - len(sums) + 2)  # the last two are those of returns and of differences
    return tag("tr", tag("td", "Total", colspan="4"), *sums, tag("td", colspan=rest), class_="total")


def _small(text: str) -> list[Markup]:
    return [tag("small", text)] if text else []


def _mean(mean: Mean | None) -> str:
    return "" if mean is None else f"{mean.value:,g} ({mean.error:g})"


def _return(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def number(value: float) -> str:
    """Writes whole and large numbers without a fraction, and others with as many digits as are of interest.

    >>> [number(x) for x in (1200, 12.2, 0.0031, 0.0)]
    ['1,200', '12.2', '0.003', '0.0']
    """
    if isinstance(value, int) or value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value == 0 or value >= 0.1 else f"{value:.3f}"
