"""The paper's own tables as evidence for its claims. What it shows as curves alone, there is no evidence of."""

from __future__ import annotations

from collections.abc import Mapping

from rewardmachines.envs.registry import domain_of
from rewardmachines.experiments.aggregate import Mean
from rewardmachines.experiments.evidence import (
    Axis,
    FlatEvidence,
    LateEvidence,
    Origin,
    RelearnedEvidence,
    TaskEvidence,
)
from rewardmachines.library.published import (
    RUNS,
    PublishedTable,
    published_flat,
    published_tasks,
    published_totals,
)
from rewardmachines.library.published import Mean as PublishedMean
from rewardmachines.library.task_sets import DOMAINS, task_set


class PaperEvidence:
    """The tables of the paper's appendix."""

    def runs(self, table: PublishedTable, setting: str) -> int:
        """How many runs of an experiment of LHRM there are."""
        totals = published_totals(table, domain_of(setting), setting)
        return 0 if totals is None else totals.completed

    def total(self, table: PublishedTable, setting: str, column: str) -> Mean | None:
        """The sum over all tasks of completed runs."""
        totals = published_totals(table, domain_of(setting), setting)
        return None if totals is None else _mean(getattr(totals, column), totals.completed)

    def tasks(self, table: PublishedTable, setting: str) -> dict[str, TaskEvidence]:
        """The tasks of an experiment of LHRM."""
        return {
            name: TaskEvidence(task.level or 0, task.learned, _means(task.numbers, task.learned))
            for name, task in published_tasks(table, domain_of(setting), setting).items()
        }

    def flat(self, task: str, method: str) -> FlatEvidence:
        """A task in the runs of a learner of machines. Those that are not completed ran out of time."""
        (domain_name,) = (name for name in DOMAINS if task in task_set(name).tasks)
        row = published_flat(domain_name, task, method)
        return FlatEvidence(0) if row is None else FlatEvidence(RUNS, row.learned, 0, _means(row.numbers, row.learned))

    def single_trace(self, setting: str) -> LateEvidence:
        """Nothing: the paper says that runs ran out of time, and has no table."""
        del setting
        return LateEvidence(0, 0)

    def reached(
        self, setting: str, task: str, algorithm: str, origin: Origin, axis: Axis = "episodes", threshold: float = 0.9
    ) -> None:
        """Nothing: the paper shows curves."""
        del setting, task, algorithm, origin, axis, threshold

    def relearned(self, setting: str, task: str) -> RelearnedEvidence:
        """Nothing: the paper shows curves."""
        del setting, task
        return RelearnedEvidence(0)


def _means(numbers: Mapping[str, PublishedMean], runs: int) -> dict[str, Mean]:
    return {column: _mean(number, runs) for column, number in numbers.items()}


def _mean(published: PublishedMean, runs: int) -> Mean:
    return Mean(published.value, published.error, runs)
