"""Which results speak for or against a claim of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final, Literal, TypeAlias

from rewardmachines.experiments.aggregate import mean_of
from rewardmachines.experiments.results import Result
from rewardmachines.experiments.study import RUNS
from rewardmachines.experiments.tables import published_table_of
from rewardmachines.library.published import PublishedTable

Axis: TypeAlias = Literal["episodes", "steps"]
"""What learning is measured in."""
_EXPERIMENTS: Final = {
    PublishedTable.DEFAULT: "default",
    PublishedTable.RESTRICTED: "restricted",
    PublishedTable.PRIMITIVE: "primitive",
}
"""What experiments are called where they are missing."""


def total(results: Sequence[Result], table: PublishedTable, setting: str, column: str) -> float | None:
    """What all tasks of a run take together: the mean over completed runs; None if there are none."""
    runs = runs_of(results, table, setting)
    mean = mean_of(sum(task.number(column) or 0 for task in run.tasks) for run in runs if run.is_complete)
    return None if mean is None else mean.value


def runs_of(results: Sequence[Result], table: PublishedTable, setting: str) -> list[Result]:
    """Runs of LHRM by the paper's rules, of one of its experiments; of the preset `paper` if there are no others."""
    found = [
        result for result in results
        if result.command == "learn" and result.setting == setting and published_table_of(result) is table
    ]  # fmt: skip
    by_preset = [[result for result in found if result.preset == preset] for preset in ("table", "paper")]
    return next((runs for runs in by_preset if runs), [])


def missing_experiments(
    results: Sequence[Result], tables: Iterable[PublishedTable], settings: Iterable[str]
) -> list[str]:
    """The experiments of which there are fewer runs than the paper has."""
    counts = {(table, setting): len(runs_of(results, table, setting)) for setting in settings for table in tables}
    return [
        f"{_EXPERIMENTS[table]} {setting.upper()}{some_of(count, RUNS)}"
        for (table, setting), count in counts.items() if count < RUNS
    ]  # fmt: skip


def some_of(count: int, wanted: int) -> str:
    """How many runs there are of those that are wanted; nothing, if there are none."""
    return f" ({count} of {wanted} runs)" if count else ""


def first_episodes(
    results: Sequence[Result], table: PublishedTable, setting: str, only: str | None
) -> dict[str, float]:
    """By task above level 1, the mean number of episodes from the beginning of its level to its first machine."""
    found: dict[str, list[float]] = {}
    for run in runs_of(results, table, setting):
        for task in run.tasks:
            first = task.number("first_hrm_episodes")
            if first is not None and (task.number("level") or 0) > 1 and only in (None, task.task):
                found.setdefault(task.task, []).append(first)
    return {name: fmean(values) for name, values in found.items()}


def needed_to(results: Sequence[Result], task: str, what: str, axis: Axis) -> float | None:
    """The mean number of episodes or steps to a return of 0.9; a run that never had it counts with all that it took.

    Args:
        results: Results of any kind.
        task: A task in FRL.
        what: The algorithm.
        axis: What is counted.

    Returns:
        The mean over seeds; None if there is no such result.
    """
    for result in results:
        if result.command == "train" and (result.setting, result.what) == ("frl", what):
            (mine,) = result.tasks
            if mine.task == task:
                seeds = {curve.seed: getattr(curve, axis)[-1] for curve in result.curves}
                reached = [mine.number(f"{axis}_to_0.9_seed_{seed}") or last for seed, last in seeds.items()]
                return fmean(reached) if reached else None
    return None
