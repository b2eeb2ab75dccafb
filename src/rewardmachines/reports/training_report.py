"""The report of a run that trains policies for one task: a page with the learning curve, the hierarchy and a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from rewardmachines.agents.gymnasium.diagnosis import read_diagnosis
from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.machine import LEAF
from rewardmachines.drawing import Engine, save_drawing
from rewardmachines.files import write_aside
from rewardmachines.reports.curve_plot import plot_curves, subject
from rewardmachines.reports.markup import Markup, address, joined, tag
from rewardmachines.reports.page_parts import document, duration, figure, tile, wide_table
from rewardmachines.runs.config_file import flat

AnyTrainRun: TypeAlias = TrainRun | TrainGymnasiumRun
"""A run that trains policies for one task."""

PAGE: Final = "index.html"
"""The name of the page."""
_SHOWN: Final = 40
"""The largest number of evaluations in the table of the page; the file has all of them."""
_COLUMNS: Final = ("seed", "steps", "episodes", "return", "length", "goals while exploring", "exploration")


def write_training_report(run: AnyTrainRun, folder: Path) -> Path:
    """Writes the report of a training run, finished or not.

    Beside the page lie `evaluations.csv`, `curve` and `hierarchy` (PNG and SVG).

    Args:
        run: The run.
        folder: The folder of the report, which is made if there is none.

    Returns:
        The path of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    judged = [row for row in run.rows() if row.returns is not None]
    lines = [",".join(_COLUMNS), *(",".join(_cells(row)).replace(" %", "") for row in judged)]
    write_aside(folder / "evaluations.csv", "\n".join(lines) + "\n")
    if judged:
        for suffix in ("svg", "png"):
            plot_curves([run], "steps", folder / f"curve.{suffix}")
    sections = [
        _top(run, judged),
        _diagnosis(run),
        _curve(judged),
        _hierarchy(run, folder),
        _evaluations(judged),
        _settings(run),
    ]
    write_aside(folder / PAGE, document(f"{run.spec.task} · seed {run.spec.seed}", sections))
    return folder / PAGE


def _top(run: AnyTrainRun, judged: Sequence[Row]) -> Markup:
    rows, moments, spec = run.rows(), run.moments(), run.spec
    last = [row.mean_return for row in judged[-1:]]
    best = max((row.mean_return for row in judged if row.mean_return is not None), default=None)
    tiles = [
        (duration(moments[-1].seconds if moments else 0.0), "wall clock"),
        (f"{rows[-1].steps if rows else 0:,}", "environment steps"),
        (f"{rows[-1].episodes if rows else 0:,}", "episodes"),
        ("–" if not last or last[0] is None else f"{last[0]:.2f}", "greedy return in the last evaluation"),
        ("–" if best is None else f"{best:.2f}", "in the best one"),
    ]
    return joined(
        tag("h1", f"{spec.task} in {subject(run)}"),
        tag("p", f"Policies for a given hierarchy ({spec.algorithm.value}), seed {spec.seed}.", class_="soft"),
        tag("div", *(tile(*each) for each in tiles), class_="tiles"),
    )


def _diagnosis(run: AnyTrainRun) -> Markup:
    """Why the task is not learned, if that was found out."""
    found = read_diagnosis(run.files.diagnosis) if isinstance(run, TrainGymnasiumRun) else None
    if not found:
        return Markup("")
    findings = [tag("li", tag("b", finding.what), f": {finding.advice}") for finding in found.findings]
    return joined(tag("h2", "Why it is not learned"), tag("ul", *findings))


def _curve(judged: Sequence[Row]) -> Markup:
    title = tag("h2", "Learning curve")
    if not judged:
        return joined(title, tag("p", "There has been no evaluation yet.", class_="soft"))
    caption = "The mean return of greedy episodes: the share that reaches the goal."
    return joined(title, figure("curve.svg", "mean greedy return against steps", caption))


def _hierarchy(run: AnyTrainRun, folder: Path) -> Markup:
    """Draws the hierarchy of the task."""
    title, tree = tag("h2", "The hierarchy"), run.hierarchy
    try:
        for suffix in ("svg", "png"):
            save_drawing(tree, folder / f"hierarchy.{suffix}", engine=Engine.BUILTIN)
    except TooLargeError:
        return joined(title, tag("p", "It is too large to be drawn.", class_="soft"))
    callees = sorted({name for machine in tree.machines for name in machine.callees} - {LEAF})
    caption = f"What is to be done; it calls {', '.join(callees)}." if callees else "What is to be done."
    return joined(title, figure("hierarchy.svg", f"the hierarchy of {run.spec.task}", caption))


def _evaluations(judged: Sequence[Row]) -> Markup:
    if not judged:
        return Markup("")
    head = tag("tr", *(tag("th", name) for name in _COLUMNS))
    rows = [tag("tr", *(tag("td", cell) for cell in _cells(row, ","))) for row in judged[-_SHOWN:]]
    link = tag("a", "evaluations.csv", href=address("evaluations.csv"))
    note = tag("p", f"The last {len(rows)} of {len(judged)}; all are in ", link, ".", class_="soft")
    return joined(tag("h2", "Evaluations"), note, wide_table(head, *rows))


def _cells(row: Row, thousands: str = "") -> tuple[str, ...]:
    """The cells of the line of an evaluation; `thousands` separates groups of digits in large numbers."""
    assert row.mean_return is not None
    assert row.lengths is not None
    length = f"{sum(row.lengths) / len(row.lengths):.1f}"
    goals = f"{100 * row.goals / row.ended:.0f} %" if row.ended else ""
    counts = str(row.seed), f"{row.steps:{thousands}}", f"{row.episodes:{thousands}}"
    return *counts, f"{row.mean_return:.3f}", length, goals, f"{row.exploration:.2f}"


def _settings(run: AnyTrainRun) -> Markup:
    rows = [
        tag("tr", tag("td", tag("code", name)), tag("td", tag("code", str(value))))
        for name, value in flat(run.order).items()
    ]
    return joined(tag("h2", "Settings"), tag("details", tag("summary", f"{len(rows)} settings"), wide_table(*rows)))
