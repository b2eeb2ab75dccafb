"""Tables of a study: ours beside the paper's, as plain cells that can be shown or written as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from rewardmachines.envs.registry import domain
from rewardmachines.experiments.aggregate import Mean, mean_of
from rewardmachines.experiments.cells import NONE, Table, beside, times_less
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result, TaskResult
from rewardmachines.experiments.study import Command, Study, TableSpec
from rewardmachines.lhrm.config import Callables
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
    "length_goal": "goal length",
    "length_deadend": "dead-end length",
    "length_incomplete": "incomplete length",
}
"""The columns of the paper's appendix that a table shows, and what they are called."""
METHODS: Final = {
    "lhrm_nonflat": "LHRM with calls",
    "lhrm_flat": "LHRM flat",
    "deepsynth": "DeepSynth",
    "jirp": "JIRP",
    "lrm": "LRM",
}
"""Learners of machines in the order of the paper's table, and what they are called."""
WITH_CALLS, *WITHOUT_CALLS = METHODS
ALGORITHMS: Final = {"hrl": "hierarchy", "flat-hrl": "flat machine", "crm": "CRM", "lhrm": "LHRM"}
"""What algorithms are called."""


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
            tables += _MAKE[spec.kind](spec, mine, found)
    return tables


# -- LHRM, by task


def _lhrm_tables(spec: TableSpec, _: Sequence[PlannedRun], results: Sequence[Result]) -> list[Table]:
    """A table of totals by setting, and a table for each setting."""
    by_setting: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        by_setting.setdefault((result.domain, result.setting), []).append(result)
    rows = tuple(_totals_row(*key, mine) for key, mine in by_setting.items())
    header = ("setting", "runs", "learner (s)", "faster", "calls", "fewer", "machines", "right")
    remarks = (
        "Ours / paper. `learner (s)` is the time of all searches of a run, `faster` how many times less it is than the "
        "paper's; likewise `calls` and `fewer`. `machines` counts tasks with a machine over all runs, `right` those "
        "whose machine says the same as the true one of every trace.",
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


def _published_machines(source: PublishedTable | None, domain_name: str, setting: str) -> str:
    """How many machines the paper's runs learned, all tasks together."""
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
    return None if changes.get("goals") == "1" else PublishedTable.DEFAULT


def task_of(result: Result, name: str) -> TaskResult:
    """What a run says of one of its tasks."""
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
    number = f"{len(completed)} of {len(results)}"
    remarks = [f"Ours / paper, mean (standard error). {rules}. {number} runs completed."]
    if first.preset == "fast":
        remarks.append(
            "The preset `fast` collects fewer goal traces and explores otherwise than the paper: what is counted does "
            "not compare with the paper's columns."
        )
    return tuple(remarks)


# -- machines with and without calls, by task and method


def _flat_tables(spec: TableSpec, runs: Sequence[PlannedRun], results: Sequence[Result]) -> list[Table]:
    """A row for each task that is to be learned without calls, and each learner, whether or not there are results."""
    rows = []
    for domain_name, task in _flat_tasks(runs):
        methods = {_planned_method(run) for run in runs if _learns(run, domain_name, task)}
        ended = [result for result in results if result.domain == domain_name and _has(result, task)]
        rows += [_flat_row(domain_name, task, method, ended) for method in METHODS if method in methods]
    header = ("task", "learner", "learned", "time (s)", "faster", "states", "edges", "right")
    remarks = [
        "Ours / paper (of 5), mean (standard error) of runs that learned a machine in their time. `faster` is how many "
        "times less time ours takes than the paper's."
    ]
    flat = [(result, result.tasks[0].task) for result in results if method_of(result) != WITH_CALLS]
    stopped = sum(has_stopped_early(result, task) for result, task in flat)
    if stopped:
        number = "1 run that ended" if stopped == 1 else f"{stopped} runs that ended"
        remarks.append(
            f"A flat machine counts if it is right, or if its run took all episodes: {number} early with a "
            "wrong machine learned none."
        )
    without = Counter(r.end.rstrip(".") for r, task in flat if not (has_learned(r, task) or has_stopped_early(r, task)))
    if without:
        ends = ", ".join(f"{count} × “{end}”" for end, count in sorted(without.items()))
        remarks.append(f"How runs ended that learned no machine: {ends}.")
    return [Table(spec.title, header, tuple(rows), tuple(remarks))]


def _flat_tasks(runs: Sequence[PlannedRun]) -> list[tuple[str, str]]:
    """The tasks that are learned without calls, each with its domain; all, if none is."""
    flat = [run for run in runs if _planned_method(run) != WITH_CALLS] or runs
    return list(dict.fromkeys((run.order.spec.domain, task) for run in flat for task in run.tasks))


def _learns(run: PlannedRun, domain_name: str, task: str) -> bool:
    return run.order.spec.domain == domain_name and task in run.tasks


def _planned_method(run: PlannedRun) -> str:
    spec: Any = run.order.spec
    if run.command is not Command.LEARN:
        return run.what
    return WITHOUT_CALLS[0] if spec.config.callables is Callables.NONE else WITH_CALLS


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


def method_of(result: Result) -> str:
    """Which of `METHODS` made a result of learning machines."""
    if result.what != "lhrm":
        return result.what
    return WITHOUT_CALLS[0] if "callables=none" in result.settings else WITH_CALLS


def has_learned(result: Result, task: str) -> bool:
    """Whether a run learned a machine in its time: a flat one that is right, or stood until all episodes were taken."""
    return _ended_with_machine(result, task) and not has_stopped_early(result, task)


def has_stopped_early(result: Result, task: str) -> bool:
    """Whether a run ended with a wrong flat machine before it took all its episodes, so that it says nothing."""
    if not _ended_with_machine(result, task) or method_of(result) == WITH_CALLS:
        return False
    # A baseline that was completed has taken all its episodes.
    return result.command == Command.LEARN.value and not (task_of(result, task).number("is_right") or result.is_spent)


def _ended_with_machine(result: Result, task: str) -> bool:
    return result.is_complete and task_of(result, task).has_machine


def policy_of(result: Result) -> tuple[str, str, Literal["ours", "authors"]]:
    """The task, the algorithm and the origin of the machines of a training run.

    A hierarchy of the authors that is flat itself, whose name says so, makes its run one of the flat machine.
    """
    task, _, source = result.tasks[0].task.partition("@")
    is_flat = "flat" in source and result.what == "hrl"
    return task, "flat-hrl" if is_flat else result.what, "authors" if source else "ours"


def _has(result: Result, task: str) -> bool:
    return any(each.task == task for each in result.tasks)


# -- how long it takes to reach a return


def _reach_tables(spec: TableSpec, _: Sequence[PlannedRun], results: Sequence[Result]) -> list[Table]:
    rows = []
    for result in results:
        (task,) = result.tasks
        cells = [result.setting.upper(), task.task, ALGORITHMS.get(result.what, result.what)]
        seeds = sorted({curve.seed for curve in result.curves})
        for axis in ("episodes", "steps"):
            known = mean_of(task.number(f"{axis}_to_0.9_seed_{seed}") for seed in seeds)
            cells.append(NONE if known is None else str(known))
        cells.append(f"{sum(task.number(f'steps_to_0.9_seed_{seed}') is not None for seed in seeds)} of {len(seeds)}")
        rows.append(tuple(cells))
    header = ("setting", "task", "algorithm", "episodes", "steps", "runs that reached it")
    remarks = (
        "Until the mean greedy return of three evaluations in a row is 0.9; mean (standard error) over the runs that "
        "reached it. The paper shows curves, and no such numbers.",
    )
    return [Table(spec.title, header, tuple(rows), remarks)]


_MAKE: Final = {"lhrm": _lhrm_tables, "flat": _flat_tables, "reach": _reach_tables}
