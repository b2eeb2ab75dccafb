"""The report of several runs that differ in nothing but their seeds: mean curves with their bands, tables by seed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside
from rewardmachines.reports.any_run import AnyRun
from rewardmachines.reports.curve_plot import plot_curves, subject
from rewardmachines.reports.markup import Markup, address, joined, tag
from rewardmachines.reports.page_parts import PAGE, document, duration, figure, tile, wide_table
from rewardmachines.reports.run_curves import tasks_of
from rewardmachines.reports.seed_results import SeedResult, check_alike, seed_results, seeds_csv

TABLE: Final = "seeds.csv"
"""The name of the file with the results of every seed."""
_RIGHT: Final = {"none": ("right", "same"), "differs": ("wrong", "other")}
"""A word for a learned hierarchy, and its colour, by whether it differs from the true one."""


def write_seeds_report(runs: Sequence[AnyRun], folder: Path) -> Path:
    """Writes the report of several runs, finished or not. Those of the single runs are linked if they were written.

    Beside the page lie `seeds.csv`, `curves` and, of several tasks, `overview` (PNG and SVG).

    Args:
        runs: The runs, which differ in nothing but their seeds.
        folder: The folder of the report, which is made if there is none.

    Returns:
        The path of the page.

    Raises:
        RewardMachineError: The runs differ in more than their seeds.
    """
    check_alike(runs)
    results = seed_results(runs)
    folder.mkdir(parents=True, exist_ok=True)
    write_aside(folder / TABLE, seeds_csv(runs, results))
    sections = [_top(runs, results), _curves(runs, folder), _tasks(runs, results), _seeds(results, folder)]
    title = f"{subject(runs[0])} · {len(results)} seeds"
    write_aside(folder / PAGE, document(title, sections))
    return folder / PAGE


def _top(runs: Sequence[AnyRun], results: Sequence[SeedResult]) -> Markup:
    tasks = tasks_of(runs[0])
    what = tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks"
    done = [result.is_done for result in results if result.is_done is not None]
    tiles = [
        (_mean([result.mean_return for result in results]), "mean greedy return in the last evaluations"),
        (f"{fmean(result.steps for result in results):,.0f}", "environment steps, mean over seeds"),
        (f"{fmean(result.episodes for result in results):,.0f}", "episodes, mean over seeds"),
    ]
    if done:
        tiles.insert(0, (f"{sum(done)} of {len(done)}", "seeds have learned every task"))
    seeds = ", ".join(str(result.seed) for result in results)
    return joined(
        tag("h1", f"{what} in {subject(runs[0])}: {len(results)} seeds"),
        tag("p", f"Runs that differ in nothing but their seeds: {seeds}.", class_="soft"),
        tag("div", *(tile(*each) for each in tiles), class_="tiles"),
    )


def _curves(runs: Sequence[AnyRun], folder: Path) -> Markup:
    """Draws the mean curves of all tasks, as far as every run was evaluated."""
    title, has_many = tag("h2", "Learning curves"), len(tasks_of(runs[0])) > 1
    try:
        for suffix in ("svg", "png"):
            plot_curves(runs, "steps", folder / f"curves.{suffix}", suits_both=True)
            if has_many:
                plot_curves(runs, "steps", folder / f"overview.{suffix}", over_tasks=True, suits_both=True)
    except RewardMachineError as problem:
        return joined(title, tag("p", f"There are none: {problem}.", class_="soft"))
    every = "The mean return of each task over seeds, with its confidence interval."
    drawn = [figure("curves.svg", "return of every task, mean over seeds", every)]
    if has_many:
        drawn.insert(0, figure("overview.svg", "mean return of all tasks", "The mean of all tasks and all seeds."))
    return joined(title, *drawn)


def _tasks(runs: Sequence[AnyRun], results: Sequence[SeedResult]) -> Markup:
    """A table of returns: a line for each task, a column for each seed."""
    head = tag("tr", *(tag("th", name) for name in ("task", *(f"seed {r.seed}" for r in results), "mean")))
    rows = []
    for task in tasks_of(runs[0]):
        cells = [tag("td", _number(result.returns.get(task)), *_machine(result, task)) for result in results]
        mean = tag("td", tag("b", _mean([result.returns.get(task) for result in results])))
        rows.append(tag("tr", tag("td", task), *cells, mean))
    note = "The mean greedy return over instances and the last evaluations."
    if any(result.differs for result in results):
        note += " Below it, whether the learned hierarchy says of every trace what the true one says."
    return joined(tag("h2", "Tasks, seed by seed"), wide_table(head, *rows), tag("p", note, class_="soft"))


def _machine(result: SeedResult, task: str) -> list[Markup]:
    """What was learned of a task, in one word; nothing where nothing was to be learned."""
    if result.is_done is None:
        return []
    if task not in result.machines:
        return [tag("small", "no machine")]
    word, colour = _RIGHT.get(result.differs.get(task, ""), ("machine", "soft"))
    return [tag("small", tag("span", word, class_=colour))]


def _seeds(results: Sequence[SeedResult], folder: Path) -> Markup:
    """A table of costs: a line for each seed, with links to the reports of single runs."""
    names = ("seed", "steps", "episodes", "wall clock", "mean return", "report")
    rows = [
        tag("tr", *(tag("td", cell) for cell in (*_costs(result), _number(result.mean_return), _link(result, folder))))
        for result in results
    ]
    files = tag("p", "All numbers are in ", tag("a", TABLE, href=address(TABLE)), ".", class_="soft")
    head = tag("tr", *(tag("th", name) for name in names))
    return joined(tag("h2", "Seeds"), wide_table(head, *rows), files)


def _costs(result: SeedResult) -> tuple[str, ...]:
    return str(result.seed), f"{result.steps:,}", f"{result.episodes:,}", duration(result.seconds)


def _link(result: SeedResult, folder: Path) -> Markup:
    """A link to the report of a single run, or the name of its folder if there is no report."""
    page, name = result.folder / "report" / PAGE, result.folder.name
    if not page.exists():
        return tag("span", name)
    return tag("a", name, href=address(Path(os.path.relpath(page, folder)).as_posix()))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _mean(values: Sequence[float | None]) -> str:
    """The mean of values, where None counts as 0; a dash if there is none."""
    return _number(fmean(value or 0.0 for value in values) if any(v is not None for v in values) else None)
