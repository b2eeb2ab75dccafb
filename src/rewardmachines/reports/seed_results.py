"""What several runs that differ in nothing but their seeds have come to, seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.reports.any_run import AnyRun
from rewardmachines.reports.differences import differences
from rewardmachines.reports.results_table import to_csv
from rewardmachines.reports.run_curves import settings_of, tasks_of
from rewardmachines.reports.summary import summarize
from rewardmachines.runs.budget import EVALUATIONS


@dataclass(frozen=True)
class SeedResult:
    """What one seed has come to."""

    seed: int
    folder: Path
    """The folder of its run."""
    steps: int
    """The steps that were taken so far."""
    episodes: int
    """The episodes that have ended so far."""
    seconds: float
    """The wall-clock time of its run."""
    returns: Mapping[str, float | None]
    """The mean greedy return over instances and the last evaluations, by task; None where there is none."""
    is_done: bool | None = None
    """Whether every task is learned well enough; None where policies were trained for a given hierarchy."""
    machines: frozenset[str] = frozenset()
    """The tasks that a machine was learned for."""
    differs: Mapping[str, str] = field(default_factory=dict)
    """Whether the learned hierarchy of a task differs from the true one: none, differs or unknown."""

    @property
    def mean_return(self) -> float | None:
        """The mean return of all tasks; one that was not evaluated counts as 0. None if none was."""
        known = [value for value in self.returns.values() if value is not None]
        return sum(known) / len(self.returns) if known else None


def check_alike(runs: Sequence[AnyRun]) -> None:
    """Checks that runs differ in nothing but their seeds.

    Raises:
        RewardMachineError: There is none, one is there twice, or they differ in a setting.
    """
    if not runs:
        raise RewardMachineError("say which runs to report on: hrm report runs/learn-craftworld-op-0")
    first = runs[0]
    expected = settings_of(first)
    for run in runs[1:]:
        if type(run) is not type(first):
            raise RewardMachineError(
                f"{run.folder} and {first.folder} are runs of different commands: hrm plot has both"
            )
        found = settings_of(run)
        other = next(
            (name for name in {**expected, **found} if repr(expected.get(name)) != repr(found.get(name))), None
        )
        if other is not None:
            raise RewardMachineError(
                f"{run.folder} and {first.folder} differ in more than their seeds, such as {other}: "
                "compare them with hrm plot"
            )
    if len({run.folder.resolve() for run in runs}) < len(runs):
        raise RewardMachineError("the same run is named twice")


def seed_results(runs: Sequence[AnyRun]) -> list[SeedResult]:
    """The results of all seeds of these runs, by seed."""
    found = [result for run in runs for result in _results(run)]
    return sorted(found, key=lambda result: (result.seed, str(result.folder)))


def _results(run: AnyRun) -> list[SeedResult]:
    if isinstance(run, (TrainRun, TrainGymnasiumRun)):
        return _trained(run)
    told = summarize(run)
    return [
        SeedResult(
            seed=told.seed,
            folder=run.folder,
            steps=told.steps,
            episodes=told.episodes,
            seconds=told.seconds,
            returns=told.returns,
            is_done=told.is_done,
            machines=frozenset(run.hierarchies()),
            differs={difference.task: difference.answer for difference in differences(run).tasks},
        )
    ]


def _trained(run: TrainRun | TrainGymnasiumRun) -> list[SeedResult]:
    """The results of a training run, which may have several seeds."""
    moments, rows = run.moments(), run.rows()
    results = []
    for seed in sorted({row.seed for row in rows}):
        mine = [row for row in rows if row.seed == seed]
        last = [row.mean_return for row in mine if row.mean_return is not None][-EVALUATIONS:]
        results.append(
            SeedResult(
                seed=seed,
                folder=run.folder,
                steps=mine[-1].steps,
                episodes=mine[-1].episodes,
                seconds=moments[-1].seconds if moments else 0.0,
                returns={run.spec.task: fmean(last) if last else None},
            )
        )
    return results


def seeds_csv(runs: Sequence[AnyRun], results: Sequence[SeedResult]) -> str:
    """The results as a CSV file, with a line for each task of each seed."""
    names = ["task", "seed", "return", "machine", "difference", "steps", "episodes", "seconds"]
    rows = [
        [
            task,
            result.seed,
            result.returns.get(task),
            int(task in result.machines) if result.is_done is not None else None,
            result.differs.get(task),
            result.steps,
            result.episodes,
            round(result.seconds, 3),
        ]
        for task in tasks_of(runs[0])
        for result in results
    ]
    return to_csv(names, rows)
