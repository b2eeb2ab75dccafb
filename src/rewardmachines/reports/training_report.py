"""The report of a run that trains policies for one task: a page with the learning curve, the hierarchy and a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from statistics import fmean
from typing import Final, TypeAlias

from rewardmachines.agents.gymnasium.diagnosis import read_diagnosis
from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.machine import LEAF
from rewardmachines.files import write_aside
from rewardmachines.reports.curve_plot import plot_curves, subject
from rewardmachines.reports.machine_drawings import save_both
from rewardmachines.reports.markup import Markup, address, joined, tag
from rewardmachines.reports.page_parts import PAGE, document, duration, figure, tile, wide_table
from rewardmachines.reports.seed_results import SeedResult, seed_results
from rewardmachines.runs.config_file import flat

AnyTrainRun: TypeAlias = TrainRun | TrainGymnasiumRun
"""A run that trains policies for one task."""

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
            plot_curves([run], "steps", folder / f"curve.{suffix}", suits_both=True)
    results = seed_results([run])
    sections = [
        _top(run, judged, results),
        _diagnosis(run),
        _curve(run, judged),
        _hierarchy(run, folder),
        _seeds(results),
        _evaluations(judged),
        _settings(run),
    ]
    write_aside(folder / PAGE, document(f"{run.spec.task} · seed {run.spec.seed}", sections))
    return folder / PAGE


def _top(run: AnyTrainRun, judged: Sequence[Row], results: Sequence[SeedResult]) -> Markup:
    moments, spec = run.moments(), run.spec
    last = [row.mean_return or 0.0 for row in _last_by_seed(judged)]
    best = [max(row.mean_return or 0.0 for row in judged if row.seed == seed) for seed in {row.seed for row in judged}]
    many = len(results) > 1
    each = ", mean over seeds" if many else ""
    tiles = [
        (duration(moments[-1].seconds if moments else 0.0), "wall clock, without start and report"),
        (f"{fmean(r.steps for r in results) if results else 0:,.0f}", f"environment steps{each}"),
        (f"{fmean(r.episodes for r in results) if results else 0:,.0f}", f"episodes{each}"),
        (f"{fmean(last):.2f}" if last else "–", f"greedy return in the last evaluation{each}"),
        (f"{fmean(best):.2f}" if best else "–", f"in the best one{' of each seed' if many else ''}"),
    ]
    seeds = f"seeds {', '.join(str(r.seed) for r in results)}" if many else f"seed {spec.seed}"
    return joined(
        tag("h1", f"{spec.task} in {subject(run)}"),
        tag("p", f"Policies for a given hierarchy ({spec.algorithm.value}), {seeds}.", class_="soft"),
        tag("div", *(tile(*each) for each in tiles), class_="tiles"),
    )


def _last_by_seed(judged: Sequence[Row]) -> list[Row]:
    """The last evaluation of each seed."""
    return list({row.seed: row for row in judged}.values())


def _diagnosis(run: AnyTrainRun) -> Markup:
    """Why the task is not learned, if that was found out."""
    found = read_diagnosis(run.files.diagnosis) if isinstance(run, TrainGymnasiumRun) else None
    if not found:
        return Markup("")
    findings = [tag("li", tag("b", finding.what), f": {finding.advice}") for finding in found.findings]
    return joined(tag("h2", "Why it is not learned"), tag("ul", *findings))


def _curve(run: AnyTrainRun, judged: Sequence[Row]) -> Markup:
    title = tag("h2", "Learning curve")
    if not judged:
        return joined(title, tag("p", "There has been no evaluation yet.", class_="soft"))
    caption = "The mean return of greedy episodes: the share that reaches the goal."
    film = tag(
        "p", "To see it act: ", tag("code", f"hrm evaluate {quote(str(run.folder))} -o film.html"), class_="soft"
    )
    return joined(title, figure("curve.svg", "mean greedy return against steps", caption), film)


def _hierarchy(run: AnyTrainRun, folder: Path) -> Markup:
    """Draws the hierarchy of the task."""
    title, tree = tag("h2", "The hierarchy"), run.hierarchy
    try:
        save_both(tree, folder / "hierarchy")
    except TooLargeError:
        return joined(title, tag("p", "It is too large to be drawn.", class_="soft"))
    callees = sorted({name for machine in tree.machines for name in machine.callees} - {LEAF})
    caption = f"What is to be done; it calls {', '.join(callees)}." if callees else "What is to be done."
    return joined(title, figure("hierarchy.svg", f"the hierarchy of {run.spec.task}", caption))


def _seeds(results: Sequence[SeedResult]) -> Markup:
    """A table with a line for each seed, of runs with several."""
    if len(results) < 2:
        return Markup("")
    head = tag("tr", *(tag("th", name) for name in ("seed", "steps", "episodes", "return in the last evaluations")))
    rows = [
        tag(
            "tr",
            *(tag("td", cell) for cell in (str(r.seed), f"{r.steps:,}", f"{r.episodes:,}", _number(r.mean_return))),
        )
        for r in results
    ]
    return joined(tag("h2", "Seeds"), wide_table(head, *rows))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


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
