"""The results of a run in the form of the tables in the paper's appendix, each number beside the published one."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from statistics import fmean
from typing import Final, NamedTuple

from rewardmachines.agents.presets import Preset
from rewardmachines.core.machine import RewardMachine
from rewardmachines.envs.registry import domain
from rewardmachines.lhrm.config import Callables, Exploration, LhrmConfig
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.library.published import (
    RUNS,
    PublishedMean,
    PublishedTable,
    PublishedTask,
    PublishedTotals,
    published_tasks,
    published_totals,
)
from rewardmachines.reports.page_parts import Markup, tag
from rewardmachines.rollout.rows import Row
from rewardmachines.runs.config import DomainPlace, RunConfig
from rewardmachines.runs.run import Run
from rewardmachines.traces import Outcome, Trace

Cell = str | int | float | None
"""A cell of a CSV file; None is written as an empty cell."""

OUTCOMES: Final = {"goal": Outcome.GOAL, "deadend": Outcome.DEAD_END, "incomplete": Outcome.INCOMPLETE}
"""The outcomes of traces by their names in columns."""
NUMBERS: Final = (
    "time_s",
    "calls",
    "states",
    "edges",
    "first_hrm_episodes",
    *(f"examples_{name}" for name in OUTCOMES),
    *(f"length_{name}" for name in OUTCOMES),
)
"""The columns that are means in the paper."""
FLAGS: Final = ("goal", "hrm")
"""The columns that count runs in the paper: whether the goal was seen, and whether a machine was learned."""
_TITLES: Final = {
    PublishedTable.DEFAULT: "the default: all machines of lower levels are callable, and options explore",
    PublishedTable.RESTRICTED: "restricted: only the machines that are needed are callable",
    PublishedTable.PRIMITIVE: "primitive exploration: actions instead of options",
    PublishedTable.FLAT: "flat: no machine calls another, each task is learned alone",
}


class RootSize(NamedTuple):
    """The size of a machine, as the paper counts it."""

    states: int
    edges: int


@dataclass(frozen=True)
class TaskRow:
    """The results of a task, and those that the paper has published."""

    name: str
    level: int
    goal: bool
    """Whether the goal of the task was ever reached."""
    hrm: bool
    """Whether a machine was learned."""
    numbers: Mapping[str, float | None]
    """The numbers of the run by the names in `NUMBERS`; None where there is none."""
    paper: PublishedTask | None
    """The published results, if the paper has a fitting table with this task."""

    def published(self, column: str) -> PublishedMean | None:
        """The published mean of one of the columns in `NUMBERS`, if there is one."""
        return None if self.paper is None else self.paper.numbers.get(column)


@dataclass(frozen=True)
class ResultTable:
    """The results of all tasks of a run."""

    rows: tuple[TaskRow, ...]
    source: str
    """A sentence on which table of the paper the published numbers are from, or why there are none."""
    totals: PublishedTotals | None
    """The published totals, if the run has the same tasks."""

    @property
    def time_s(self) -> float:
        """The seconds that all searches for machines took."""
        return sum(row.numbers["time_s"] or 0 for row in self.rows)

    @property
    def calls(self) -> float:
        """The calls of the solver for all tasks."""
        return sum(row.numbers["calls"] or 0 for row in self.rows)

    @property
    def has_dead_ends(self) -> bool:
        """Whether there are dead-end examples, in the run or in the paper, so that their columns are needed."""
        return any(row.numbers["examples_deadend"] or row.published("examples_deadend") for row in self.rows)


def result_table(run: Run) -> ResultTable:
    """The results of a run of LHRM, beside those of the experiment of the paper that is most like it."""
    rows, examples = run.rows, run.examples
    progress, hierarchies, first = run.progress, run.machines, run.first_machines
    published, totals, source = _published(run.config)
    results = []
    for number, task in enumerate(run.ranked_tasks):
        learned, traces = hierarchies.get(task.name), examples.get(task.name, ())
        size = root_size(learned[learned.root]) if learned is not None else None
        numbers: dict[str, float | None] = {
            "time_s": progress[task.name].seconds if task.name in progress else None,
            "calls": progress[task.name].calls if task.name in progress else None,
            "states": size.states if size else None,
            "edges": size.edges if size else None,
            "first_hrm_episodes": first.get(task.name),
            **_example_numbers(traces),
        }
        saw_goal = any(row.goals[number] for row in rows) or any(t.outcome is Outcome.GOAL for t in traces)
        results.append(TaskRow(task.name, task.level, saw_goal, learned is not None, numbers, published.get(task.name)))
    return ResultTable(tuple(results), source, totals)


Published = tuple[Mapping[str, PublishedTask], PublishedTotals | None, str]
"""The paper's results by task, its totals if the run has the same tasks, and which table they are from, in words."""


def _published(config: RunConfig) -> Published:
    """The paper's values for a run."""
    if config.domain is None:
        return {}, None, "The paper has no table for these environments."
    name, setting = config.domain.domain, config.domain.setting
    table, source = fitting_table(config.domain, config.settings)
    if table is None:
        return {}, None, source
    is_whole = set(config.tasks) == set(domain(name).tasks)
    totals = published_totals(table, name, setting) if is_whole else None
    return published_tasks(table, name, setting), totals, source


def fitting_table(place: DomainPlace, config: LhrmConfig) -> tuple[PublishedTable | None, str]:
    """The table of the paper whose experiment is most like a run.

    Args:
        place: The domain in its setting, and its instances.
        config: The settings of LHRM.

    Returns:
        The table, if there is one, and a sentence on what it is or why there is none.
    """
    if set(config.goals) == {config.examples} == {1}:
        return None, "The paper has no table for a single goal trace: it ran out of time in CraftWorld."
    table = _by_ablation(config)
    if table is None:
        return None, "The paper has no table for restricted callables together with primitive exploration."
    if not published_tasks(table, place.domain, place.setting):
        return None, f"The paper has no table for {place.title} ({_TITLES[table]})."
    source = f"Small: the paper's for {place.title}, {_TITLES[table]}; mean (standard error) of {RUNS} runs."
    other = other_rules(place, config)
    return table, f"{source} This run went by other rules: {', '.join(other)}." if other else source


def other_rules(place: DomainPlace, config: LhrmConfig) -> list[str]:
    """The rules that decide what is counted and in which a run differs from the paper, in words.

    How fast agents learn is no such rule. Ablations of the paper are none either. Arguments as for `fitting_table`.
    """
    paper = lhrm_preset(Preset.PAPER, place.domain, place.setting)
    rules = [
        ("goal traces before the first machine, on level 1", config.goals_wanted(1), paper.goals_wanted(1)),
        ("goal traces before the first machine, above", config.goals_wanted(2), paper.goals_wanted(2)),
        ("goal traces that it is learned from", config.examples, paper.examples),
        ("disjuncts", config.disjuncts, paper.disjuncts),
        ("threshold", config.threshold, paper.threshold),
        ("rate of detours", config.detour_rate, paper.detour_rate),
    ]
    words = [f"{name} {mine:g} (paper: {theirs:g})" for name, mine, theirs in rules if mine != theirs]
    if config.explores_with is Exploration.PROPOSITIONS:
        words.append("exploration with propositions (paper: options)")
    if place.fresh:
        words.append("fresh instances (paper: ten)")
    return words


def _by_ablation(config: LhrmConfig) -> PublishedTable | None:
    """The table of the ablation that these settings make, if the paper has one."""
    if config.callables is Callables.NONE:
        return PublishedTable.FLAT
    primitive, restricted = config.explores_with is Exploration.ACTIONS, config.callables is Callables.RESTRICTED
    if primitive and restricted:
        return None
    if primitive:
        return PublishedTable.PRIMITIVE
    return PublishedTable.RESTRICTED if restricted else PublishedTable.DEFAULT


def root_size(machine: RewardMachine) -> RootSize:
    """The size of a root as the paper counts it: the states that some edge mentions, and every disjunct as an edge.

    The rejecting state counts only where an edge leads there: in OPL, BookQuill has 4 states and Bucket has 4.
    """
    states = {state for edge in machine.edges for state in (edge.source, edge.target)}
    return RootSize(len(states), sum(len(edge.formula.disjuncts) for edge in machine.edges))


def _example_numbers(traces: Sequence[Trace]) -> dict[str, float | None]:
    """The number of examples with each outcome, and their mean length, by column."""
    lengths = {name: [len(t) for t in traces if t.outcome is outcome] for name, outcome in OUTCOMES.items()}
    counts = {f"examples_{name}": len(values) if traces else None for name, values in lengths.items()}
    return {**counts, **{f"length_{name}": fmean(values) if values else None for name, values in lengths.items()}}


# -- files


def table_csv(table: ResultTable) -> str:
    """The results as a CSV file; a cell is empty where there is no number."""
    header = ["task", "level", *(c for flag in FLAGS for c in (flag, f"paper_{flag}_runs"))]
    header += [c for name in NUMBERS for c in (name, f"paper_{name}", f"paper_{name}_se")]
    rows: list[list[Cell]] = [[row.name, row.level, *_flags(row), *_numbers(row)] for row in table.rows]
    return to_csv(header, [*rows, _total(table, len(header))])


def _flags(row: TaskRow) -> list[Cell]:
    with_goal, learned = (row.paper.with_goal, row.paper.learned) if row.paper is not None else (None, None)
    return [int(row.goal), with_goal, int(row.hrm), learned]


def _numbers(row: TaskRow) -> list[Cell]:
    return [cell for name in NUMBERS for cell in (row.numbers[name], *_pair(row.published(name)))]


def _total(table: ResultTable, width: int) -> list[Cell]:
    time, calls = (table.totals.time_s, table.totals.calls) if table.totals is not None else (None, None)
    cells: list[Cell] = ["total", *[None] * (1 + 2 * len(FLAGS))]
    cells += [table.time_s, *_pair(time), table.calls, *_pair(calls)]
    return [*cells, *[None] * (width - len(cells))]


def _pair(mean: PublishedMean | None) -> tuple[Cell, Cell]:
    return (None, None) if mean is None else (mean.value, mean.error)


def events_csv(rows: Iterable[Row]) -> str:
    """All events of a run as a CSV file: every machine that was learned, and every task that was given up."""
    header = ["chunk", "steps", "episodes", "task", "cause", "states", "edges", "calls",
              "examples", "goals", "dead_ends", "incompletes", "message"]  # fmt: skip
    return to_csv(header, [
        [row.chunk, row.steps, row.episodes, e.task, e.cause.value, e.states, e.edges, e.calls,
         e.goals + e.dead_ends + e.incompletes, e.goals, e.dead_ends, e.incompletes, e.message]
        for row in rows for e in row.learned
    ])  # fmt: skip


def to_csv(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """The text of a CSV file with these columns, in which numbers are rounded to four digits."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[_written(cell) for cell in row] for row in rows])
    return text.getvalue()


def _written(cell: Cell) -> Cell:
    if cell is None:
        return ""
    return round(cell, 4) if isinstance(cell, float) else cell


_HEADS: Final = {"time_s": "Time (s)", "calls": "Calls", "states": "States", "edges": "Edges",
                 "first_hrm_episodes": "First ep."}  # fmt: skip
"""The titles of columns that have no subcolumns."""
_OUTCOMES: Final = {"goal": "G", "deadend": "D", "incomplete": "I"}
"""The titles of subcolumns, one for each outcome of a trace."""


def result_rows(
    table: ResultTable, returns: Mapping[str, float | None], differences: Mapping[str, Markup]
) -> list[Markup]:
    """The rows of the table: two of titles, one for each task, and one of totals.

    Args:
        table: The numbers of the run, and those of the paper.
        returns: The mean return of each task in the last evaluations, if it was active in them.
        differences: The cell of each task in the last column, which says whether its hierarchy is wrong.
    """
    columns = [name for name in NUMBERS if table.has_dead_ends or not name.endswith("deadend")]
    rows, before = _header(columns), 1
    for row in table.rows:
        cells = [tag("td", row.name), tag("td", str(row.level)), *_marks(row), *(_number(row, c) for c in columns)]
        cells += [tag("td", _return(returns.get(row.name))), tag("td", differences.get(row.name, Markup("")))]
        rows.append(tag("tr", *cells, class_="level" if row.level != before else "task"))
        before = row.level
    return [*rows, _total_row(table, len(columns))]


def _header(columns: list[str]) -> list[Markup]:
    outcomes = [_OUTCOMES[name.removeprefix("examples_")] for name in columns if name.startswith("examples_")]
    plain = [_HEADS[name] for name in columns if name in _HEADS]
    single = ["Task", "Level", "# G", "# L", *plain]
    top = [tag("th", name, rowspan="2") for name in single]
    top += [tag("th", name, colspan=str(len(outcomes)), class_="group") for name in ("# Examples", "Example length")]
    top += [tag("th", name, rowspan="2") for name in ("Return", "Differs")]
    return [tag("tr", *top), tag("tr", *(tag("th", name, class_="kind") for name in (*outcomes, *outcomes)))]


def _marks(row: TaskRow) -> list[Markup]:
    paper = (row.paper.with_goal, row.paper.learned) if row.paper is not None else (None, None)
    return [
        tag("td", str(int(ours)), *_small("" if theirs is None else f"{theirs} of {RUNS}"))
        for ours, theirs in zip((row.goal, row.hrm), paper, strict=True)
    ]


def _number(row: TaskRow, column: str) -> Markup:
    ours, theirs = row.numbers[column], row.published(column)
    missing = "" if theirs is None else "–"
    return tag("td", missing if ours is None else number(ours), *_small(_mean(theirs)))


def _total_row(table: ResultTable, columns: int) -> Markup:
    totals = table.totals
    time, calls = (totals.time_s, totals.calls) if totals is not None else (None, None)
    sums = [
        tag("td", number(table.time_s), *_small(_mean(time))),
        tag("td", number(table.calls), *_small(_mean(calls))),
    ]
    rest = str(columns - len(sums) + 2)  # the last two are those of returns and of differences
    return tag("tr", tag("td", "Total", colspan="4"), *sums, tag("td", colspan=rest), class_="total")


def _small(text: str) -> list[Markup]:
    return [tag("small", text)] if text else []


def _mean(mean: PublishedMean | None) -> str:
    return "" if mean is None else f"{mean.value:,g} ({mean.error:g})"


def _return(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def number(value: float) -> str:
    """Writes whole and large numbers without a fraction, and others with as many digits as are of interest.

    >>> [number(x) for x in (1200, 12.2, 0.0031, 0.0)]
    ['1,200', '12.2', '0.003', '0.0']
    """
    if isinstance(value, int) or value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value == 0 or value >= 0.1 else f"{value:.3f}"
