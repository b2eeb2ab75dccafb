"""Published results of LHRM: the tables of the paper's appendix, as data.

Numbers are means over runs, with their standard errors. Where no run learned a machine there are none.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

from rewardmachines.library.task_sets import CRAFTWORLD, WATERWORLD, task_set

RUNS: Final = 5
"""The number of runs of every experiment of the paper."""
_FLAT_SETTINGS: Final = {CRAFTWORLD: "op", WATERWORLD: "wod"}
_FLAT_METHOD: Final = "lhrm_flat"
_MEAN, _ERROR = "_mean", "_se"


class PublishedTable(Enum):
    """The default, and its ablations: only what is needed is callable; actions explore; nothing is callable."""

    DEFAULT = "nonflat_default"
    RESTRICTED = "nonflat_restricted"
    PRIMITIVE = "nonflat_primitive_exploration"
    FLAT = "flat"


class PublishedMean(NamedTuple):
    """A mean over runs."""

    value: float
    error: float
    """The standard error of the mean."""


@dataclass(frozen=True)
class PublishedTask:
    """The published results of a task. Values that were not measured, or could not be, are missing."""

    level: int | None
    """The level of the task; None in the table of flat machines, which does not say it."""
    learned: int
    """Runs in which there was a machine."""
    with_goal: int | None
    """Runs in which the goal was ever reached."""
    numbers: Mapping[str, PublishedMean]
    """Means by column: time_s, calls, states, edges, first_hrm_episodes, examples_* and length_* of each outcome."""


@dataclass(frozen=True)
class PublishedTotals:
    """The published results of a domain's tasks together."""

    completed: int
    """The number of completed runs."""
    time_s: PublishedMean
    calls: PublishedMean


@cache
def published_tasks(table: PublishedTable, domain_name: str, setting: str) -> Mapping[str, PublishedTask]:
    """The published results of each task, by our names; empty, if the paper has no such table.

    >>> published_tasks(PublishedTable.DEFAULT, "craftworld", "op")["milk-bucket"].numbers["calls"].value
    4.6
    """
    known = task_set(domain_name)
    if table is PublishedTable.FLAT:
        rows = [row for row in _read("flat") if row["method"] == _FLAT_METHOD and _is_flat_setting(row, setting)]
    else:
        rows = [row for row in _read(table.value) if row["setting"].lower() == setting.lower()]
    return {known.task_name(row["task"]): _task(row) for row in rows if row["domain"] == known.name}


def published_totals(table: PublishedTable, domain_name: str, setting: str) -> PublishedTotals | None:
    """The published results of a domain's tasks together; None, if the paper has no such table."""
    wanted = (table.value, task_set(domain_name).name, setting.lower())
    for row in _read("totals"):
        if (row["table"], row["domain"], row["setting"].lower()) == wanted:
            numbers = _numbers(row)
            return PublishedTotals(int(row["completed_runs"]), numbers["total_time"], numbers["total_calls"])
    return None


def published_flat(domain_name: str, task: str, method: str) -> PublishedTask | None:
    """The published flat machine of a task and a method.

    Args:
        domain_name: The domain of the task.
        task: Our name of the task.
        method: `lhrm_nonflat`, `lhrm_flat`, `deepsynth`, `jirp` or `lrm`.

    >>> published_flat("craftworld", "milk-bucket", "jirp").learned
    5
    """
    known = task_set(domain_name)
    for row in _read("flat"):
        if row["domain"] == known.name and row["method"] == method and known.task_name(row["task"]) == task:
            return _task(row)
    return None


def _is_flat_setting(row: Mapping[str, str], setting: str) -> bool:
    return _FLAT_SETTINGS[row["domain"]] == setting.lower()


def _task(row: Mapping[str, str]) -> PublishedTask:
    learned = int(row.get("runs_with_hrm") or row["completed"])
    goals, level = (None if row.get(name) is None else int(row[name]) for name in ("runs_with_goal", "level"))
    return PublishedTask(level, learned, goals, _numbers(row) if learned else {})


def _numbers(row: Mapping[str, str]) -> dict[str, PublishedMean]:
    columns = [name.removesuffix(_MEAN) for name in row if name.endswith(_MEAN)]
    return {c: PublishedMean(float(row[c + _MEAN]), float(row[c + _ERROR])) for c in columns if row[c + _MEAN]}


@cache
def _read(name: str) -> tuple[Mapping[str, str], ...]:
    file = resources.files("rewardmachines.library") / "data" / "results" / f"{name}.csv"
    return tuple(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
