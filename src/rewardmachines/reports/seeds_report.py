"""The report of several runs that differ in nothing but their seeds: mean curves with their bands, tables by seed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside
from rewardmachines.reports.charts import save_for_page
from rewardmachines.reports.curve_plot import curves_figure, settings_of
from rewardmachines.reports.differences import differences
from rewardmachines.reports.page_parts import (
    PAGE,
    Markup,
    address,
    decimal,
    document,
    duration,
    figure,
    joined,
    link,
    plain_table,
    section,
    soft,
    tag,
    tile,
)
from rewardmachines.reports.results_table import to_csv
from rewardmachines.reports.summary import Summary, summarize
from rewardmachines.runs.run import Run

TABLE: Final = "seeds.csv"
"""The name of the file with the results of every seed."""
_RIGHT: Final = {"none": ("right", "same"), "differs": ("wrong", "other")}
"""A word for a learned hierarchy, and its colour, by whether it differs from the true one."""


@dataclass(frozen=True)
class SeedResult:
    """The state of one seed."""

    run: Run
    summary: Summary
    differs: Mapping[str, str]
    """Whether the learned hierarchy of a task differs from the true one: none, differs or unknown."""

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.run.config.seed

    def machines(self, task: str) -> int | None:
        """1 if a machine was learned for a task, 0 if not; None where hierarchies are given."""
        return int(task in self.summary.machines) if self.run.config.learns_machines else None


def write_seeds_report(runs: Sequence[Run], folder: Path) -> Path:
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
    write_aside(folder / TABLE, _seeds_csv(results))
    sections = [_top(results), _curves(runs, folder), _tasks(results), _seeds(results, folder)]
    write_aside(folder / PAGE, document(f"{runs[0].config.place.title} · {len(runs)} seeds", sections))
    return folder / PAGE


def check_alike(runs: Sequence[Run]) -> None:
    """Checks that runs differ in nothing but their seeds.

    Raises:
        RewardMachineError: There is none, one is there twice, or they differ in a setting.
    """
    if not runs:
        raise RewardMachineError("say which runs to report on: hrm report runs/learn-craftworld-op-0")
    first = runs[0]
    expected = settings_of(first)
    for run in runs[1:]:
        found = settings_of(run)
        names = {**expected, **found}
        other = next((name for name in names if repr(expected.get(name)) != repr(found.get(name))), None)
        if other is not None:
            raise RewardMachineError(
                f"{run.folder} and {first.folder} differ in more than their seeds, such as {other}: "
                "compare them with hrm plot"
            )
    if len({run.folder.resolve() for run in runs}) < len(runs):
        raise RewardMachineError("the same run is named twice")


def seed_results(runs: Sequence[Run]) -> list[SeedResult]:
    """The results of runs, by seed."""
    found = [SeedResult(run, summarize(run), {one.task: one.answer for one in differences(run).tasks}) for run in runs]
    return sorted(found, key=lambda result: (result.seed, str(result.run.folder)))


def _seeds_csv(results: Sequence[SeedResult]) -> str:
    """The results as a CSV file, with a line for each task of each seed."""
    names = ["task", "seed", "return", "machine", "difference", "steps", "episodes", "seconds"]
    rows = [
        [
            task,
            result.seed,
            result.summary.returns[task],
            result.machines(task),
            result.differs.get(task),
            result.summary.steps,
            result.summary.episodes,
            round(result.summary.seconds, 3),
        ]
        for task in results[0].run.tasks
        for result in results
    ]
    return to_csv(names, rows)


def _top(results: Sequence[SeedResult]) -> Markup:
    config, found = results[0].run.config, [result.summary for result in results]
    what = config.task if len(config.tasks) == 1 else f"{len(config.tasks)} tasks"
    tiles = [
        (_mean([one.mean_return for one in found]), "mean greedy return in the last evaluations"),
        (f"{fmean(one.steps for one in found):,.0f}", "environment steps, mean over seeds"),
        (f"{fmean(one.episodes for one in found):,.0f}", "episodes, mean over seeds"),
    ]
    if config.stop_at:
        done = sum(one.is_done for one in found)
        tiles.insert(0, (f"{done} of {len(found)}", "seeds have learned every task"))
    seeds = ", ".join(str(result.seed) for result in results)
    return joined(
        tag("h1", f"{what} in {config.place.title}: {len(results)} seeds"),
        soft(f"Runs that differ in nothing but their seeds: {seeds}."),
        tag("div", *(tile(*each) for each in tiles), class_="tiles"),
    )


def _curves(runs: Sequence[Run], folder: Path) -> Markup:
    """Draws the mean curves of all tasks, as far as every run was evaluated."""
    title, has_many = "Learning curves", len(runs[0].tasks) > 1
    try:
        save_for_page(curves_figure(runs, "steps"), folder / "curves")
        if has_many:
            save_for_page(curves_figure(runs, "steps", over_tasks=True), folder / "overview")
    except RewardMachineError as problem:
        return section(title, soft(f"There are none: {problem}."))
    every = "The mean return of each task over seeds, with its confidence interval."
    drawn = [figure("curves.svg", "return of every task, mean over seeds", every)]
    if has_many:
        drawn.insert(0, figure("overview.svg", "mean return of all tasks", "The mean of all tasks and all seeds."))
    return section(title, *drawn)


def _tasks(results: Sequence[SeedResult]) -> Markup:
    """A table of returns: a line for each task, a column for each seed."""
    rows = []
    for task in results[0].run.tasks:
        returns = [result.summary.returns[task] for result in results]
        cells = [joined(decimal(value), _machine(one, task)) for one, value in zip(results, returns, strict=True)]
        rows.append((task, *cells, tag("b", _mean(returns))))
    note = "The mean greedy return over instances and the last evaluations."
    if any(result.differs for result in results):
        note += " Below it, whether the learned hierarchy says of every trace what the true one says."
    names = ("task", *(f"seed {result.seed}" for result in results), "mean")
    return section("Tasks, seed by seed", plain_table(names, rows), soft(note))


def _machine(result: SeedResult, task: str) -> Markup:
    """The state of a task's machine in one word; empty where the machine was given."""
    if not result.run.config.learns_machines:
        return Markup("")
    if not result.machines(task):
        return tag("small", "no machine")
    word, colour = _RIGHT.get(result.differs.get(task, ""), ("machine", "soft"))
    return tag("small", tag("span", word, class_=colour))


def _seeds(results: Sequence[SeedResult], folder: Path) -> Markup:
    """A table of costs: a line for each seed, with links to the reports of single runs."""
    names = ("seed", "steps", "episodes", "wall clock", "mean return", "report")
    rows = []
    for result in results:
        found = result.summary
        costs = str(result.seed), f"{found.steps:,}", f"{found.episodes:,}", duration(found.seconds)
        rows.append((*costs, decimal(found.mean_return), _link(result.run, folder)))
    return section("Seeds", plain_table(names, rows), soft("All numbers are in ", link(TABLE), "."))


def _link(run: Run, folder: Path) -> Markup:
    """A link to the report of a single run, or the name of its folder if there is no report."""
    page, name = run.files.report / PAGE, run.folder.name
    if not page.exists():
        return tag("span", name)
    return tag("a", name, href=address(Path(os.path.relpath(page, folder)).as_posix()))


def _mean(values: Sequence[float | None]) -> str:
    """The mean of values, where None counts as 0; a dash if there is none."""
    return decimal(fmean(value or 0.0 for value in values) if any(v is not None for v in values) else None)
