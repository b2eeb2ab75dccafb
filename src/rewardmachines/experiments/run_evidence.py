"""Results of ours as evidence for or against claims of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rewardmachines.experiments.aggregate import Mean, mean_of
from rewardmachines.experiments.evidence import (
    Axis,
    FlatEvidence,
    LateEvidence,
    Origin,
    RelearnedEvidence,
    TaskEvidence,
)
from rewardmachines.experiments.results import Result
from rewardmachines.experiments.study import Command
from rewardmachines.experiments.tables import (
    COLUMNS,
    WITH_CALLS,
    has_learned,
    has_stopped_early,
    method_of,
    policy_of,
    published_table_of,
    task_of,
)
from rewardmachines.library.published import PublishedTable

_FLAT_COLUMNS: Final = ("time_s", "states", "edges")


@dataclass(frozen=True)
class RunEvidence:
    """Results of any studies. Those of other settings and presets than the paper's tables have are left aside."""

    results: Sequence[Result]

    def runs(self, table: PublishedTable, setting: str) -> int:
        """How many runs of an experiment of LHRM there are."""
        return len(self._runs(table, setting))

    def total(self, table: PublishedTable, setting: str, column: str) -> Mean | None:
        """The sum over all tasks of completed runs."""
        completed = [run for run in self._runs(table, setting) if run.is_complete]
        return mean_of(sum(task.number(column) or 0 for task in run.tasks) for run in completed)

    def tasks(self, table: PublishedTable, setting: str) -> dict[str, TaskEvidence]:
        """The tasks of an experiment of LHRM."""
        runs = self._runs(table, setting)
        found = {}
        for name in dict.fromkeys(task.task for run in runs for task in run.tasks):
            mine = [task for run in runs for task in run.tasks if task.task == name]
            learned = [task for task in mine if task.has_machine]
            means = {column: mean_of(task.number(column) for task in learned) for column in COLUMNS}
            numbers = {column: mean for column, mean in means.items() if mean is not None}
            found[name] = TaskEvidence(int(mine[0].number("level") or 0), len(learned), numbers)
        return found

    def flat(self, task: str, method: str) -> FlatEvidence:
        """A task in the runs of a learner of machines."""
        runs = self._with_calls(task) if method == WITH_CALLS else self._without_calls(task, method)
        stopped = sum(has_stopped_early(run, task) for run in runs)
        learned = [task_of(run, task) for run in runs if has_learned(run, task)]
        means = {column: mean_of(each.number(column) for each in learned) for column in _FLAT_COLUMNS}
        numbers = {column: mean for column, mean in means.items() if mean is not None}
        return FlatEvidence(len(runs) - stopped, len(learned), stopped, numbers)

    def single_trace(self, setting: str) -> LateEvidence:
        """Runs that learn their first machines from a single goal trace."""
        runs = [r for r in self._learned() if "goals=1" in r.settings and r.setting == setting]
        return LateEvidence(len(runs), sum(not run.is_complete for run in runs))

    def reached(
        self, setting: str, task: str, algorithm: str, origin: Origin, axis: Axis = "episodes", threshold: float = 0.9
    ) -> Mean | None:
        """How long policies take to a return, over the seeds of a run."""
        for result in self.results:
            if result.command == Command.TRAIN.value and result.setting == setting:
                (mine,) = result.tasks
                if policy_of(result) == (task, algorithm, origin):
                    last = {curve.seed: getattr(curve, axis)[-1] for curve in result.curves}
                    return mean_of(mine.number(f"{axis}_to_{threshold:g}_seed_{seed}") or last[seed] for seed in last)
        return None

    def relearned(self, setting: str, task: str) -> RelearnedEvidence:
        """What becomes of a task when machines of lower levels are learned again; older results do not say."""
        runs = self._runs(PublishedTable.DEFAULT, setting)
        tasks = [each for run in runs for each in run.tasks if each.task == task]
        known = [each for each in tasks if each.number("relearned_below") is not None]
        events, decays = (sum(int(t.number(column) or 0) for t in known) for column in ("relearned_below", "decays"))
        return RelearnedEvidence(len(known), events, decays)

    def _learned(self) -> list[Result]:
        return [result for result in self.results if result.command == Command.LEARN.value]

    def _runs(self, table: PublishedTable, setting: str) -> list[Result]:
        """Runs of LHRM by the paper's rules; of the preset `paper` if there are no others."""
        found = [r for r in self._learned() if r.setting == setting and published_table_of(r) is table]
        by_preset = [[result for result in found if result.preset == preset] for preset in ("table", "paper")]
        return next((runs for runs in by_preset if runs), [])

    def _with_calls(self, task: str) -> list[Result]:
        """Runs of LHRM by default in which the task is learned among all others of its domain."""
        runs = [run for setting in ("op", "wod") for run in self._runs(PublishedTable.DEFAULT, setting)]
        return [run for run in runs if any(each.task == task for each in run.tasks)]

    def _without_calls(self, task: str, method: str) -> list[Result]:
        """Runs of a learner of flat machines, which learns one task."""
        found = [r for r in self.results if r.command != Command.TRAIN.value and r.setting in ("op", "wod")]
        return [r for r in found if method_of(r) == method and [each.task for each in r.tasks] == [task]]
