"""The parts of a report that only runs of training have: the curve, the given hierarchy, and all evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Final

import numpy as np

from rewardmachines.core.machine import LEAF
from rewardmachines.files import write_aside
from rewardmachines.reports.charts import save_for_page
from rewardmachines.reports.curve_plot import curves_figure
from rewardmachines.reports.page_parts import (
    Markup,
    Progress,
    decimal,
    draw_hierarchy,
    figure,
    joined,
    link,
    plain_table,
    section,
    soft,
    tag,
)
from rewardmachines.reports.summary import Summary
from rewardmachines.rollout.rows import Row
from rewardmachines.runs.run import Run

TABLE: Final = "evaluations.csv"
"""The name of the file of all evaluations."""
_SHOWN: Final = 40
"""The largest number of evaluations in the table of the page; the file has all of them."""
_COLUMNS: Final = ("seed", "steps", "episodes", "return", "length", "goals while exploring", "exploration")


def training_parts(run: Run, summary: Summary, folder: Path, progress: Progress) -> tuple[list[Markup], list[str]]:
    """Writes the files of a report that only runs of training have.

    Args:
        run: The run.
        summary: The run in a few numbers.
        folder: The folder of the report.
        progress: Called with the name of each part before it is made.

    Returns:
        The sections of the page, and the names of files to be linked.
    """
    progress("tables")
    judged = [row for row in run.rows if row.returns is not None]
    rows = [_cells(row, run.config.seed) for row in judged]
    lines = [",".join(_COLUMNS), *(",".join(cells).replace(" %", "") for cells in rows)]
    write_aside(folder / TABLE, "\n".join(lines) + "\n")
    progress("hierarchy")
    sections = [_hierarchy(run, folder)]
    files = [TABLE]
    progress("curve")
    if summary.last is None:
        sections.insert(0, section("Learning curves", soft("There has been no evaluation yet.")))
        return sections, files
    save_for_page(curves_figure([run], "steps"), folder / "curve")
    caption = "The mean return of greedy episodes: the share that reaches the goal."
    film = soft("To see it act: ", tag("code", f"hrm evaluate {quote(str(run.folder))} -o film.html"))
    sections.insert(0, section("Learning curves", figure("curve.svg", "mean return against steps", caption), film))
    return [*sections, _evaluations(judged, run.config.seed)], [*files, "curve.png"]


def training_tiles(summary: Summary) -> list[tuple[str, str]]:
    """The most important numbers of training, each with what it counts."""
    return [
        (decimal(summary.last), "greedy return in the last evaluation"),
        (decimal(summary.best), "in the best one"),
    ]


def _hierarchy(run: Run, folder: Path) -> Markup:
    """Draws the hierarchy of the task."""
    tree = run.given_hierarchies[run.config.task]
    drawn = draw_hierarchy(tree, folder / "hierarchy")
    if not drawn:
        return section("The hierarchy", soft("It is too large to be drawn."))
    callees = sorted({name for machine in tree.machines for name in machine.callees} - {LEAF})
    caption = f"What is to be done; it calls {', '.join(callees)}." if callees else "What is to be done."
    return section("The hierarchy", figure("hierarchy.svg", f"the hierarchy of {run.config.task}", caption))


def _evaluations(judged: Sequence[Row], seed: int) -> Markup:
    rows = [_cells(row, seed, ",") for row in judged[-_SHOWN:]]
    note = soft(f"The last {len(rows)} of {len(judged)}; all are in ", link(TABLE), ".")
    return section("Evaluations", joined(note, plain_table(_COLUMNS, rows)))


def _cells(row: Row, seed: int, thousands: str = "") -> tuple[str, ...]:
    """The cells of the line of an evaluation; `thousands` separates groups of digits in large numbers."""
    share = f"{100 * row.goals[0] / row.ended[0]:.0f} %" if row.ended[0] else ""
    counts = str(seed), f"{row.steps:{thousands}}", f"{row.episodes:{thousands}}"
    greedy = f"{row.mean_return or 0.0:.3f}", f"{np.mean(row.lengths or 0.0):.1f}"
    return *counts, *greedy, share, f"{row.exploration:.2f}"
