"""Tables of a study: ours beside the paper's, as plain cells that can be shown, written as Markdown or as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rewardmachines.envs.registry import domain
from rewardmachines.experiments.aggregate import Mean, mean_of
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result, TaskResult
from rewardmachines.experiments.study import Study, TableSpec
from rewardmachines.library.published import Mean as PublishedMean
from rewardmachines.library.published import PublishedTable, published_flat, published_tasks, published_totals

COLUMNS: Final = {
    "time_s": "time (s)",
    "calls": "calls",
    "states": "states",
    "edges": "edges",
    "first_hrm_episodes": "first episode",
    "examples_goal": "goal",
    "examples_deadend": "dead end",
    "examples_incomplete": "incomplete",
}
"""The columns of the paper's appendix that a table shows, and what they are called."""
NONE: Final = "–"


@dataclass(frozen=True)
class Table:
    """Cells in rows, with a title, a header and remarks."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table in Markdown, its title above and its remarks below it."""
        lines = [f"### {self.title}", "", _line(self.header), _line(["---"] * len(self.header))]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, *(part for remark in self.remarks for part in ("", remark))]) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def make_tables(study: Study, runs: Sequence[PlannedRun], results: Mapping[str, Result]) -> list[Table]:
    """The tables of a study, of the results that there are.

    Args:
        study: The study.
        runs: Its runs.
        results: Results by key; those of other studies are not looked at.
    """
    tables: list[Table] = []
    for spec in study.tables:
        mine = [run for run in runs if run.block in spec.blocks]
        found = [results[run.key] for run in mine if run.key in results]
        if found:
            tables += _MAKE[spec.kind](spec, found, len(mine))
    return tables


# -- LHRM, by task


def _lhrm_tables(spec: TableSpec, results: Sequence[Result], _: int) -> list[Table]:
    """A table for each setting."""
    settings = dict.fromkeys((result.domain, result.setting) for result in results)
    return [
        _lhrm_table(spec, [result for result in results if (result.domain, result.setting) == key], *key)
        for key in settings
    ]


def _lhrm_table(spec: TableSpec, results: Sequence[Result], domain_name: str, setting: str) -> Table:
    source = published_table_of(results[0])
    paper = published_tasks(source, domain_name, setting) if source is not None else {}
    completed = [result for result in results if result.is_complete]
    rows = []
    for task in results[0].tasks:
        theirs = paper.get(task.task)
        mine = [_task(result, task.task) for result in completed]
        cells = [task.task, _of(sum(t.has_machine for t in mine), None if theirs is None else theirs.learned)]
        for column in COLUMNS:
            published = None if theirs is None else theirs.numbers.get(column)
            cells.append(_beside(mean_of(t.number(column) for t in mine if t.has_machine), published))
        rows.append((*cells, _right(mine)))
    title = f"{spec.title}: {domain(domain_name).title} {setting.upper()}"
    header = ("task", "learned", *COLUMNS.values(), "right")
    totals = _total_row(source, domain_name, setting, completed, len(header))
    return Table(title, header, (*rows, *totals), _remarks(results, completed))


def published_table_of(result: Result) -> PublishedTable | None:
    """The table of the paper that shows the same experiment as a run of LHRM; None if there is none."""
    changes = dict(change.split("=", 1) for change in result.settings)
    if changes.get("callables") == "none":
        return PublishedTable.FLAT
    if changes.get("callables") == "restricted":
        return PublishedTable.RESTRICTED
    if changes.get("explores_with") == "actions":
        return PublishedTable.PRIMITIVE
    return None if changes.get("goals") == "1" else PublishedTable.DEFAULT


def _total_row(
    source: PublishedTable | None, domain_name: str, setting: str, completed: Sequence[Result], width: int
) -> list[tuple[str, ...]]:
    """The sums over all tasks of each run, and their mean over runs."""
    totals = published_totals(source, domain_name, setting) if source is not None else None
    sums = {
        column: mean_of(sum(task.number(column) or 0 for task in result.tasks) for result in completed)
        for column in ("time_s", "calls")
    }
    cells = ["total", _of(len(completed), None if totals is None else totals.completed)]
    cells.append(_beside(sums["time_s"], None if totals is None else totals.time_s))
    cells.append(_beside(sums["calls"], None if totals is None else totals.calls))
    return [tuple(cells + [""] * (width - len(cells)))]


def _task(result: Result, name: str) -> TaskResult:
    return next(task for task in result.tasks if task.task == name)


def _right(tasks: Sequence[TaskResult]) -> str:
    """In how many runs the learned hierarchy says the same as the true one of every trace."""
    judged = [task.number("is_right") for task in tasks if task.has_machine]
    return f"{sum(bool(right) for right in judged)} of {len(judged)}" if judged else NONE


def _remarks(results: Sequence[Result], completed: Sequence[Result]) -> tuple[str, ...]:
    """What readers must know: the rules, and which runs were not completed."""
    first = results[0]
    rules = f"Preset `{first.preset}`" + (
        f" with {', '.join(f'`{s}`' for s in first.settings)}" if first.settings else ""
    )
    made = sorted({f"{result.made.device}, commit {result.made.commit}" for result in results})
    remarks = [f"Ours / paper, mean (standard error). {rules}. {len(completed)} of {len(results)} runs completed."]
    if first.preset == "fast":
        remarks.append(
            "The preset `fast` collects fewer goal traces and explores otherwise than the paper: what is counted does "
            "not compare with the paper's columns."
        )
    return (*remarks, f"Made on {'; '.join(made)}.")


# -- flat machines, by task and method


def _flat_tables(spec: TableSpec, results: Sequence[Result], _: int) -> list[Table]:
    groups = dict.fromkeys((result.domain, task.task, _method(result)) for result in results for task in result.tasks)
    rows = []
    for domain_name, task, method in groups:
        every = [r for r in results if r.domain == domain_name and _method(r) == method and _has(r, task)]
        done = [_task(r, task) for r in every if r.is_complete and _task(r, task).has_machine]
        theirs = published_flat(domain_name, task, method)
        numbers = {} if theirs is None else theirs.numbers
        means = [_beside(mean_of(t.number(c) for t in done), numbers.get(c)) for c in ("time_s", "states", "edges")]
        completed = f"{len(done)} of {len(every)} / {NONE if theirs is None else theirs.learned}"
        rows.append((task, method, completed, *means))
    header = ("task", "method", "completed", "time (s)", "states", "edges")
    made = sorted({f"{result.made.device}, commit {result.made.commit}" for result in results})
    remarks = ("Ours / paper (of 5), mean (standard error) of completed runs.", f"Made on {'; '.join(made)}.")
    return [Table(spec.title, header, tuple(rows), remarks)]


def _method(result: Result) -> str:
    if result.what != "lhrm":
        return result.what
    return "lhrm_flat" if "callables=none" in result.settings else "lhrm_nonflat"


def _has(result: Result, task: str) -> bool:
    return any(each.task == task for each in result.tasks)


# -- how long it takes to reach a return


def _reach_tables(spec: TableSpec, results: Sequence[Result], _: int) -> list[Table]:
    rows = []
    for result in results:
        (task,) = result.tasks
        cells = [result.setting.upper(), task.task, result.what]
        seeds = sorted({curve.seed for curve in result.curves})
        for axis in ("episodes", "steps"):
            reached = [task.number(f"{axis}_to_0.9_seed_{seed}") for seed in seeds]
            known = mean_of(reached)
            cells.append(NONE if known is None else str(known))
        cells.append(f"{sum(task.number(f'steps_to_0.9_seed_{seed}') is not None for seed in seeds)} of {len(seeds)}")
        rows.append(tuple(cells))
    header = ("setting", "task", "algorithm", "episodes", "steps", "runs that reached it")
    made = sorted({f"{result.made.device}, commit {result.made.commit}" for result in results})
    remarks = (
        "Until the mean greedy return of three evaluations in a row is 0.9; mean (standard error) over the runs that "
        "reached it.",
        f"Made on {'; '.join(made)}.",
    )
    return [Table(spec.title, header, tuple(rows), remarks)]


# -- cells


def _of(ours: int, theirs: int | None) -> str:
    return f"{ours} / {NONE if theirs is None else theirs}"


def _beside(ours: Mean | None, theirs: PublishedMean | None) -> str:
    left = NONE if ours is None else str(ours)
    right = NONE if theirs is None else f"{theirs.value:,g} ({theirs.error:g})"
    return f"{left} / {right}" if ours is not None or theirs is not None else ""


_MAKE: Final = {"lhrm": _lhrm_tables, "flat": _flat_tables, "reach": _reach_tables}
