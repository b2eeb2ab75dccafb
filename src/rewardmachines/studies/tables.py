"""Tables of a study: ours beside the paper's, as plain cells that can be shown or written as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from rewardmachines.envs.registry import domain
from rewardmachines.library.published import (
    PublishedMean,
    PublishedTable,
    published_flat,
    published_tasks,
    published_totals,
)
from rewardmachines.studies.aggregate import Mean, mean_of
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result, TaskResult
from rewardmachines.studies.study import RunKind, Study, TableSpec

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


T = TypeVar("T")
K = TypeVar("K")
COLUMNS: Final = {
    "time_s": "time (s)",
    "calls": "calls",
    "states": "states",
    "edges": "edges",
    "first_hrm_episodes": "first episode",
    "examples_goal": "goal",
    "examples_deadend": "dead end",
    "examples_incomplete": "incomplete",
    "length_goal": "goal length",
    "length_deadend": "dead-end length",
    "length_incomplete": "incomplete length",
}
"""The columns of the paper's appendix that a table shows, and their headings."""
METHODS: Final = {
    "lhrm_nonflat": "LHRM with calls",
    "lhrm_flat": "LHRM flat",
    "deepsynth": "DeepSynth",
    "jirp": "JIRP",
    "lrm": "LRM",
}
"""Learners of machines in the order of the paper's table, and their titles."""
WITH_CALLS, *WITHOUT_CALLS = METHODS
ALGORITHMS: Final = {"hrl": "hierarchy", "flat-hrl": "flat machine", "crm": "CRM", "lhrm": "LHRM"}
"""Algorithms and their titles."""


def make_tables(study: Study, runs: Sequence[PlannedRun], results: Mapping[str, Result]) -> list[Table]:
    """The tables of a study, of the results that there are.

    Args:
        study: The study.
        runs: Its runs.
        results: Results by key; those of other studies are not looked at.
    """
    tables: list[Table] = []
    for spec in study.tables:
        mine = [run for run in runs if run.block.name in spec.blocks]
        found = [results[run.key] for run in mine if run.key in results]
        if found:
            tables += _MAKE[spec.kind](spec, mine, found)
    return tables


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Items by their keys, both in the order in which they come first."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


# -- LHRM, by task


def _lhrm_tables(spec: TableSpec, _: Sequence[PlannedRun], results: Sequence[Result]) -> list[Table]:
    """A table of totals by setting, and a table for each setting."""
    by_setting = grouped(results, lambda result: (result.domain, result.setting))
    rows = tuple(_totals_row(*key, mine) for key, mine in by_setting.items())
    header = ("setting", "runs", "learner (s)", "faster", "calls", "fewer", "machines", "right")
    remarks = (
        "Ours / paper. `learner (s)` is the time of all searches of a run, `faster` how many times less it is than the "
        "paper's; likewise `calls` and `fewer`. `machines` counts tasks with a machine over all runs, `right` those "
        "whose machine says the same as the true one of every trace.",
        _clock_remark(results),
    )
    totals = Table(spec.title, header, rows, remarks)
    return [totals, *(_lhrm_table(spec, *key, mine) for key, mine in by_setting.items())]


def _totals_row(domain_name: str, setting: str, results: Sequence[Result]) -> tuple[str, ...]:
    """The sums over all tasks of each completed run, and their mean over runs."""
    source = published_table_of(results[0])
    paper = published_totals(source, domain_name, setting) if source is not None else None
    completed = [result for result in results if result.is_complete]
    time_s, calls = (_mean_sum(completed, column) for column in ("time_s", "calls"))
    tasks = [task for result in completed for task in result.tasks]
    theirs = _published_machines(source, domain_name, setting)
    return (
        f"{domain(domain_name).title} {setting.upper()}",
        f"{len(completed)} of {len(results)} / {NONE if paper is None else paper.completed}",
        beside(time_s, None if paper is None else paper.time_s),
        times_less(time_s, None if paper is None else paper.time_s),
        beside(calls, None if paper is None else paper.calls),
        times_less(calls, None if paper is None else paper.calls),
        f"{sum(task.has_machine for task in tasks)} of {len(tasks)} / {theirs}",
        _right(tasks),
    )


def _clock_remark(results: Sequence[Result]) -> str:
    """A remark on how times were measured."""
    number = sum(not result.is_processor_time for result in results)
    clock = "a clock on the wall, beside other programs."
    if not number:
        return "Our times are processor times."
    if number == len(results):
        return f"Our times are those of {clock}"
    return f"Our times are processor times, but for {number} of {len(results)} runs: those are times of {clock}"


def _published_machines(source: PublishedTable | None, domain_name: str, setting: str) -> str:
    """The number of machines that the paper's runs learned, all tasks together."""
    tasks = published_tasks(source, domain_name, setting) if source is not None else {}
    return str(sum(task.learned for task in tasks.values())) if tasks else NONE


def _mean_sum(results: Sequence[Result], column: str) -> Mean | None:
    return mean_of(sum(task.number(column) or 0 for task in result.tasks) for result in results)


def _lhrm_table(spec: TableSpec, domain_name: str, setting: str, results: Sequence[Result]) -> Table:
    source = published_table_of(results[0])
    paper = published_tasks(source, domain_name, setting) if source is not None else {}
    completed = [result for result in results if result.is_complete]
    rows = []
    for task in results[0].tasks:
        theirs = paper.get(task.task)
        mine = [task_of(result, task.task) for result in completed]
        learned = f"{sum(t.has_machine for t in mine)} of {len(mine)} / {NONE if theirs is None else theirs.learned}"
        cells = [task.task, learned]
        for column in COLUMNS:
            published = None if theirs is None else theirs.numbers.get(column)
            cells.append(beside(mean_of(t.number(column) for t in mine if t.has_machine), published))
        rows.append((*cells, _right(mine)))
    title = f"{spec.title}: {domain(domain_name).title} {setting.upper()}"
    header = ("task", "learned", *COLUMNS.values(), "right")
    return Table(title, header, tuple(rows), _remarks(results, completed), is_detail=True)


def published_table_of(result: Result) -> PublishedTable | None:
    """The table of the paper that shows the same experiment as a run of LHRM; None if there is none."""
    changes = dict(change.split("=", 1) for change in result.settings)
    if changes.get("callables") == "none":
        return PublishedTable.FLAT
    if changes.get("callables") == "restricted":
        return PublishedTable.RESTRICTED
    if changes.get("explores_with") == "actions":
        return PublishedTable.PRIMITIVE
    return None if changes.get("goals") == "[1]" else PublishedTable.DEFAULT


def task_of(result: Result, name: str) -> TaskResult:
    """The results of one of the tasks of a run."""
    return next(task for task in result.tasks if task.task == name)


def _right(tasks: Sequence[TaskResult]) -> str:
    """The number of runs whose learned hierarchy says the same as the true one of every trace."""
    judged = [task.number("is_right") for task in tasks if task.has_machine]
    return f"{sum(bool(right) for right in judged)} of {len(judged)}" if judged else NONE


def _remarks(results: Sequence[Result], completed: Sequence[Result]) -> tuple[str, ...]:
    """The notes below a table: the rules, and the runs that were not completed."""
    first = results[0]
    rules = f"Preset `{first.preset}`" + (
        f" with {', '.join(f'`{s}`' for s in first.settings)}" if first.settings else ""
    )
    number = f"{len(completed)} of {len(results)}"
    remarks = [f"Ours / paper, mean (standard error). {rules}. {number} runs completed."]
    remarks += _how_ended("were not completed", [result for result in results if not result.is_complete])
    if first.preset == "fast":
        remarks.append(
            "The preset `fast` collects fewer goal traces and explores otherwise than the paper: what is counted does "
            "not compare with the paper's columns."
        )
    return tuple(remarks)


def _how_ended(what: str, results: Sequence[Result]) -> tuple[str, ...]:
    """A remark on how some runs ended, if there are any.

    Args:
        what: The words that say which runs these are.
        results: These runs.
    """
    counts = Counter(result.end.rstrip(".") for result in results)
    ends = ", ".join(f"{count} × “{end}”" for end, count in sorted(counts.items()))
    return (f"How runs ended that {what}: {ends}.",) if ends else ()


# -- machines with and without calls, by task and method


def _flat_tables(spec: TableSpec, runs: Sequence[PlannedRun], results: Sequence[Result]) -> list[Table]:
    """A row for each task that is to be learned without calls, and each learner, whether or not there are results."""
    rows = []
    for domain_name, task in _flat_tasks(runs):
        methods = {method_of(run) for run in runs if run.domain == domain_name and task in run.tasks}
        ended = [r for r in results if r.domain == domain_name and any(each.task == task for each in r.tasks)]
        rows += [_flat_row(domain_name, task, method, ended) for method in METHODS if method in methods]
    header = ("task", "learner", "learned", "time (s)", "faster", "states", "edges", "right")
    remarks = [
        "Ours / paper (of 5), mean (standard error) of runs that learned a machine in their time. `faster` is how many "
        "times less time ours takes than the paper's.",
        _clock_remark(results),
    ]
    flat = [(result, result.tasks[0].task) for result in results if method_of(result) != WITH_CALLS]
    stopped = sum(has_stopped_early(result, task) for result, task in flat)
    if stopped:
        number = "1 run that ended" if stopped == 1 else f"{stopped} runs that ended"
        remarks.append(
            f"A flat machine counts if it is right, or if its run took all episodes: {number} early with a "
            "wrong machine learned none."
        )
    without = [r for r, task in flat if not (has_learned(r, task) or has_stopped_early(r, task))]
    remarks += _how_ended("learned no machine", without)
    return [Table(spec.title, header, tuple(rows), tuple(remarks))]


def _flat_tasks(runs: Sequence[PlannedRun]) -> list[tuple[str, str]]:
    """The tasks that are learned without calls, each with its domain; all, if none is."""
    flat = [run for run in runs if method_of(run) != WITH_CALLS] or runs
    return list(dict.fromkeys((run.domain, task) for run in flat for task in run.tasks))


def _flat_row(domain_name: str, task: str, method: str, ended: Sequence[Result]) -> tuple[str, ...]:
    mine = [result for result in ended if method_of(result) == method]
    learned = [task_of(result, task) for result in mine if has_learned(result, task)]
    theirs = published_flat(domain_name, task, method)
    numbers = {} if theirs is None else theirs.numbers
    ours = {column: mean_of(t.number(column) for t in learned) for column in ("time_s", "states", "edges")}
    completed = f"{len(learned)} of {len(mine)}" if mine else NONE
    return (
        task,
        METHODS[method],
        f"{completed} / {NONE if theirs is None else theirs.learned}",
        beside(ours["time_s"], numbers.get("time_s")),
        times_less(ours["time_s"], numbers.get("time_s")),
        beside(ours["states"], numbers.get("states")),
        beside(ours["edges"], numbers.get("edges")),
        _right(learned) if any(t.number("is_right") is not None for t in learned) else "",
    )


def method_of(run: Result | PlannedRun) -> str:
    """The method in `METHODS` of a run that learns machines."""
    if run.what != "lhrm":
        return run.what
    changes = run.settings if isinstance(run, Result) else run.changes
    return WITHOUT_CALLS[0] if "callables=none" in changes else WITH_CALLS


def has_learned(result: Result, task: str) -> bool:
    """Whether a run learned a machine in its time: a flat one that is right, or stood until all episodes were taken."""
    return _ended_with_machine(result, task) and not has_stopped_early(result, task)


def has_stopped_early(result: Result, task: str) -> bool:
    """Whether a run ended with a wrong flat machine before it took all its episodes, so that it says nothing."""
    if not _ended_with_machine(result, task) or method_of(result) == WITH_CALLS:
        return False
    # A baseline that was completed has taken all its episodes.
    return result.command == RunKind.LEARN.value and not (task_of(result, task).number("is_right") or result.is_spent)


def _ended_with_machine(result: Result, task: str) -> bool:
    return result.is_complete and task_of(result, task).has_machine


def policy_of(result: Result) -> tuple[str, str, Literal["ours", "authors"]]:
    """The task, the algorithm and the origin of the machines of a training run.

    A hierarchy of the authors that is flat itself, whose name says so, makes its run one of the flat machine.
    """
    task, _, source = result.tasks[0].task.partition("@")
    is_flat = "flat" in source and result.what == "hrl"
    return task, "flat-hrl" if is_flat else result.what, "authors" if source else "ours"


# -- how long it takes to reach a return


def _reach_tables(spec: TableSpec, runs: Sequence[PlannedRun], results: Sequence[Result]) -> list[Table]:
    """A row for each kind of runs, which differ in their seeds only."""
    rows, kinds = [], {run.key: run.key_without_seed for run in runs}
    for mine in grouped(results, lambda result: kinds[result.key]).values():
        setting, task, what = mine[0].setting, mine[0].tasks[0].task, mine[0].what
        means = [mean_of(r.tasks[0].number(f"{axis}_to_0.9") for r in mine) for axis in ("episodes", "steps")]
        known = [NONE if mean is None else str(mean) for mean in means]
        reached = 0 if means[1] is None else means[1].runs
        rows.append((setting.upper(), task, ALGORITHMS.get(what, what), *known, f"{reached} of {len(mine)}"))
    header = ("setting", "task", "algorithm", "episodes", "steps", "runs that reached it")
    remarks = (
        "Until the mean greedy return of three evaluations in a row is 0.9; mean (standard error) over the runs that "
        "reached it. The paper shows curves, and no such numbers.",
    )
    return [Table(spec.title, header, tuple(rows), remarks)]


_MAKE: Final = {"lhrm": _lhrm_tables, "flat": _flat_tables, "reach": _reach_tables}
