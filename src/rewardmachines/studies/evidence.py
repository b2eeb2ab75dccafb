"""Evidence for the claims of the paper: means over runs, of our results or of the paper's own tables alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Final, Literal, NamedTuple, TypeAlias

from rewardmachines.envs.registry import domain_of
from rewardmachines.library.published import (
    RUNS,
    PublishedMean,
    PublishedTable,
    published_flat,
    published_tasks,
    published_totals,
)
from rewardmachines.library.task_sets import DOMAINS, task_set
from rewardmachines.studies.aggregate import Mean, mean_of
from rewardmachines.studies.results import Result, TaskResult
from rewardmachines.studies.study import RunKind
from rewardmachines.studies.tables import (
    COLUMNS,
    METHODS,
    WITH_CALLS,
    grouped,
    has_learned,
    has_stopped_early,
    method_of,
    policy_of,
    published_table_of,
    task_of,
)

Axis: TypeAlias = Literal["episodes", "steps"]
"""The units of learning: steps, episodes and seconds."""
Origin: TypeAlias = Literal["ours", "authors"]
"""Whose hierarchies and flat machines policies are learned on."""
CRAFTWORLD: Final = ("op", "opl", "fr", "frl")
WATERWORLD: Final = ("wod", "wd")
_EXPERIMENTS: Final = {
    PublishedTable.DEFAULT: "default",
    PublishedTable.RESTRICTED: "restricted",
    PublishedTable.PRIMITIVE: "primitive",
}
"""The names of experiments where they are missing."""
_TOTALS: Final = ("time_s", "calls")
_FLAT_COLUMNS: Final = ("time_s", "states", "edges")


@dataclass(frozen=True)
class TaskEvidence:
    """A task in the runs of an experiment of LHRM."""

    level: int
    learned: int
    """Runs in which a machine was learned."""
    numbers: Mapping[str, Mean]
    """Means over these runs, by the columns of the paper's tables."""


@dataclass(frozen=True)
class Experiment:
    """The runs of LHRM in a setting that one of the paper's tables shows."""

    runs: int = 0
    totals: Mapping[str, Mean] = field(default_factory=dict)
    """The sums over all tasks of completed runs: `time_s` and `calls`."""
    tasks: Mapping[str, TaskEvidence] = field(default_factory=dict)


@dataclass(frozen=True)
class FlatEvidence:
    """A task in the runs of one learner of machines."""

    runs: int = 0
    """Runs that say whether the learner learns a machine of the task in its time."""
    learned: int = 0
    stopped: int = 0
    """Runs that ended early with a wrong machine, and so say nothing."""
    numbers: Mapping[str, Mean] = field(default_factory=dict)
    """Means over runs that learned a machine: time_s, states, edges."""


class Late(NamedTuple):
    """Runs that learn their first machines from a single goal trace."""

    runs: int = 0
    late: int = 0
    """Runs that ran out of learner time."""


class Relearned(NamedTuple):
    """A task whose lower levels had machines learned again while it was active."""

    runs: int = 0
    """Runs that say so."""
    events: int = 0
    """The number of machines of a lower level that were learned while the task returned something."""
    decays: int = 0
    """The number of times that the return of the task fell to less than half thereafter."""


class PolicyRuns(NamedTuple):
    """A kind of training runs, and a return that they are to reach."""

    setting: str
    task: str
    algorithm: str
    origin: Origin
    axis: Axis = "episodes"
    threshold: float = 0.9


@dataclass(frozen=True)
class Evidence:
    """All that claims ask for. What there are no runs of is missing."""

    experiments: Mapping[tuple[PublishedTable, str], Experiment]
    """The experiments of LHRM, by table and setting."""
    learners: Mapping[tuple[str, str], FlatEvidence]
    """The learners of machines in OP and WOD, by task and method. With calls, a task is learned among all others."""
    late: Mapping[str, Late] = field(default_factory=dict)
    """Runs from a single goal trace, by setting."""
    reached: Mapping[PolicyRuns, Mean] = field(default_factory=dict)
    """The episodes or steps to a return. A run that never had it counts with all that it took."""
    relearned: Mapping[tuple[str, str], Relearned] = field(default_factory=dict)
    """Tasks whose lower levels have machines that are learned again, by setting and task."""

    def experiment(self, table: PublishedTable, setting: str) -> Experiment:
        """An experiment of LHRM, of which there may be no runs."""
        return self.experiments.get((table, setting), Experiment())

    def total(self, table: PublishedTable, setting: str, column: str) -> Mean | None:
        """The sum over all tasks of completed runs: `time_s` or `calls`."""
        return self.experiment(table, setting).totals.get(column)

    def flat(self, task: str, method: str) -> FlatEvidence:
        """A task in the runs of a learner of machines, of which there may be none."""
        return self.learners.get((task, method), FlatEvidence())


def missing_experiments(evidence: Evidence, tables: Iterable[PublishedTable], settings: Iterable[str]) -> list[str]:
    """The experiments of which there are fewer runs than the paper has."""
    tables = tuple(tables)
    counts = {(table, setting): evidence.experiment(table, setting).runs for setting in settings for table in tables}
    return [
        f"{_EXPERIMENTS[table]} {setting.upper()}{some_of(count)}"
        for (table, setting), count in counts.items() if count < RUNS
    ]  # fmt: skip


def some_of(count: int, wanted: int = RUNS) -> str:
    """The number of runs among those that are wanted, in parentheses."""
    return f" ({count} of {wanted} runs)"


# -- the paper's tables


@cache
def evidence_of_paper() -> Evidence:
    """The tables of the paper's appendix. What it shows as curves alone, there is no evidence of."""
    experiments = {}
    for table, setting in product(_EXPERIMENTS, (*CRAFTWORLD, *WATERWORLD)):
        name = domain_of(setting)
        totals = published_totals(table, name, setting)
        if totals is not None:
            sums = {"time_s": totals.time_s, "calls": totals.calls}
            tasks = {
                task: TaskEvidence(each.level or 0, each.learned, _means(each.numbers, each.learned))
                for task, each in published_tasks(table, name, setting).items()
            }
            experiments[table, setting] = Experiment(totals.completed, _means(sums, totals.completed), tasks)
    learners = {}
    for name in DOMAINS:
        for task, method in product(task_set(name).tasks, METHODS):
            row = published_flat(name, task, method)
            if row is not None:  # runs that are not completed ran out of time
                learners[task, method] = FlatEvidence(RUNS, row.learned, 0, _means(row.numbers, row.learned))
    return Evidence(experiments, learners)


def _means(numbers: Mapping[str, PublishedMean], runs: int) -> dict[str, Mean]:
    return {column: Mean(number.value, number.error, runs) for column, number in numbers.items()}


# -- our results


def evidence_of_results(results: Sequence[Result]) -> Evidence:
    """The evidence of results of any studies, without settings and presets that no table of the paper has."""
    learned = [result for result in results if result.command == RunKind.LEARN.value]
    trained = [result for result in results if result.command == RunKind.TRAIN.value]
    runs = _experiments(learned)
    default = {setting: mine for (table, setting), mine in runs.items() if table is PublishedTable.DEFAULT}
    single = grouped([result for result in learned if "goals=[1]" in result.settings], lambda r: r.setting)
    return Evidence(
        experiments={key: _experiment(mine) for key, mine in runs.items()},
        learners={key: _learner(key[0], mine) for key, mine in _learners(results, default).items()},
        late={name: Late(len(mine), sum(not run.is_complete for run in mine)) for name, mine in single.items()},
        reached=_reached(trained),
        relearned={
            (setting, name): _relearned([task for run in mine for task in run.tasks if task.task == name])
            for setting, mine in default.items()
            for name in _names(mine)
        },
    )


def _experiments(learned: Sequence[Result]) -> dict[tuple[PublishedTable, str], list[Result]]:
    """Runs of LHRM by the paper's rules, by table and setting; of the preset `paper` if there are no others."""
    found: dict[tuple[PublishedTable, str], list[Result]] = {}
    for preset in ("table", "paper"):
        mine = [result for result in learned if result.preset == preset]
        for (table, setting), runs in grouped(mine, lambda r: (published_table_of(r), r.setting)).items():
            if table is not None:
                found.setdefault((table, setting), runs)
    return found


def _names(runs: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(task.task for run in runs for task in run.tasks))


def _experiment(runs: Sequence[Result]) -> Experiment:
    completed = [run for run in runs if run.is_complete]
    taken = {column: [sum(task.number(column) or 0 for task in run.tasks) for run in completed] for column in _TOTALS}
    sums = {column: mean_of(values) for column, values in taken.items()}
    tasks = {name: [task for run in runs for task in run.tasks if task.task == name] for name in _names(runs)}
    return Experiment(len(runs), _known(sums), {name: _task(mine) for name, mine in tasks.items()})


def _task(mine: Sequence[TaskResult]) -> TaskEvidence:
    learned = [task for task in mine if task.has_machine]
    means = {column: mean_of(task.number(column) for task in learned) for column in COLUMNS}
    return TaskEvidence(int(mine[0].number("level") or 0), len(learned), _known(means))


def _known(means: Mapping[str, Mean | None]) -> dict[str, Mean]:
    return {column: mean for column, mean in means.items() if mean is not None}


def _learners(
    results: Sequence[Result], default: Mapping[str, Sequence[Result]]
) -> dict[tuple[str, str], list[Result]]:  # fmt: skip
    """The runs of each learner of machines in OP and WOD, by task and method.

    Those with calls are runs of LHRM by default in which all tasks of a domain are learned; all others learn one task.
    """
    with_calls = [run for setting in ("op", "wod") for run in default.get(setting, ())]
    found = {(name, WITH_CALLS): [run for run in with_calls if name in _names([run])] for name in _names(with_calls)}
    alone = [
        result
        for result in results
        if result.command != RunKind.TRAIN.value and result.setting in ("op", "wod") and len(result.tasks) == 1
    ]
    by_learner = grouped(alone, lambda r: (r.tasks[0].task, method_of(r)))
    return found | {key: mine for key, mine in by_learner.items() if key[1] != WITH_CALLS}


def _learner(task: str, runs: Sequence[Result]) -> FlatEvidence:
    stopped = sum(has_stopped_early(run, task) for run in runs)
    learned = [task_of(run, task) for run in runs if has_learned(run, task)]
    means = {column: mean_of(each.number(column) for each in learned) for column in _FLAT_COLUMNS}
    return FlatEvidence(len(runs) - stopped, len(learned), stopped, _known(means))


def _reached(trained: Sequence[Result]) -> dict[PolicyRuns, Mean]:
    found: dict[PolicyRuns, Mean] = {}
    axes: tuple[Axis, ...] = ("episodes", "steps")
    for (setting, policy, _), runs in grouped(trained, lambda r: (r.setting, policy_of(r), r.what)).items():
        for axis, threshold in product(axes, (0.5, 0.9)):
            took = [
                run.tasks[0].number(f"{axis}_to_{threshold:g}") or getattr(run.curves[0], axis)[-1]
                for run in runs
                if run.curves
            ]
            if (mean := mean_of(took)) is not None:
                found.setdefault(PolicyRuns(setting, *policy, axis, threshold), mean)
    return found


def _relearned(tasks: Sequence[TaskResult]) -> Relearned:
    """Older results do not say what becomes of a task when machines of lower levels are learned again."""
    known = [task for task in tasks if task.number("relearned_below") is not None]
    events, decays = (sum(int(t.number(column) or 0) for t in known) for column in ("relearned_below", "decays"))
    return Relearned(len(known), events, decays)
