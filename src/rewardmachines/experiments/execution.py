"""How the runs of a study are carried out: begun or resumed, for as long as there is time, and then summed up."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.training.train import training_rows
from rewardmachines.experiments.baselines.learn import flat_rows
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result, line_of, read_result
from rewardmachines.experiments.study import Command
from rewardmachines.experiments.summaries import summary
from rewardmachines.files import write_aside
from rewardmachines.lhrm.learn import learning_rows

RESULT: Final = "result.json"
"""The file in the folder of a run that says that it has ended, and what came of it."""


@dataclass(frozen=True)
class Workplace:
    """Where the runs of studies are. Runs of all studies lie side by side, each by its key."""

    root: Path

    def folder(self, run: PlannedRun) -> Path:
        """The folder of a run."""
        return self.root / run.key

    def result(self, run: PlannedRun) -> Result | None:
        """The result of a run that has ended here."""
        path = self.folder(run) / RESULT
        return read_result(path) if path.exists() else None

    def has_begun(self, run: PlannedRun) -> bool:
        """Whether a run has begun here."""
        return (self.folder(run) / "config.json").exists()


def carry_out(run: PlannedRun, workplace: Workplace, is_time_up: Callable[[], bool]) -> Result | None:
    """Begins a run or goes on with it, and writes its result when it has ended.

    Args:
        run: The run.
        workplace: Where it lies.
        is_time_up: Asked after every chunk. If so, the run is left with a checkpoint, and can go on later.

    Returns:
        The result; None if time was up before the run had ended.
    """
    if (known := workplace.result(run)) is not None:
        return known
    folder = workplace.folder(run)
    rows = _ROWS[run.command](run, folder, workplace.has_begun(run))
    with closing(rows):
        for _ in rows:
            if is_time_up():
                return None
    result = summary(run, folder)
    write_aside(folder / RESULT, line_of(result))
    return result


def _train(run: PlannedRun, folder: Path, resume: bool) -> Generator[Any]:
    order: Any = run.order
    budget = order.budget
    return training_rows(
        folder,
        order.spec,
        steps=budget.steps,
        episodes=budget.episodes,
        stop_at=order.stop_at,
        resume=resume,
    )


def _learn(run: PlannedRun, folder: Path, resume: bool) -> Generator[Any]:
    order: Any = run.order
    budget = order.budget
    return learning_rows(
        folder,
        order.spec,
        steps=budget.steps,
        episodes=budget.episodes,
        stop_at=order.stop_at,
        resume=resume,
    )


def _flat(run: PlannedRun, folder: Path, resume: bool) -> Generator[Any]:
    order: Any = run.order
    return flat_rows(folder, order.spec, order.budget, learner_seconds=order.learner_seconds, resume=resume)


_ROWS: Final = {Command.TRAIN: _train, Command.LEARN: _learn, Command.FLAT: _flat}


def deadline(seconds: float | None) -> Callable[[], bool]:
    """Whether so many seconds have passed since now; never, if none are given."""
    end = None if seconds is None else time.monotonic() + seconds
    return lambda: end is not None and time.monotonic() >= end


def unfinished(runs: Sequence[PlannedRun], workplace: Workplace, known: Sequence[str]) -> list[PlannedRun]:
    """The runs that have no result yet, those that have begun first.

    Args:
        runs: All runs of a study.
        workplace: Where they lie.
        known: Keys of runs whose results are known from elsewhere.
    """
    missing = [run for run in runs if run.key not in known and workplace.result(run) is None]
    return sorted(missing, key=lambda run: not workplace.has_begun(run))
