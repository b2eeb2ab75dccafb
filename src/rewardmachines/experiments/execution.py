"""How the runs of a study are carried out: begun or resumed, for as long as there is time, and then summed up."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from rewardmachines.agents.training.train import training_rows
from rewardmachines.experiments.baselines.learn import flat_rows
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result, line_of, read_result
from rewardmachines.experiments.study import Command
from rewardmachines.experiments.summaries import summary
from rewardmachines.files import write_aside
from rewardmachines.lhrm.learn import learning_rows
from rewardmachines.lhrm.learn_many import learning_rows_of_many

Unit: TypeAlias = Sequence[PlannedRun]
"""Runs that are carried out together."""

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


def carry_out(unit: Unit, workplace: Workplace, is_time_up: Callable[[], bool]) -> list[Result | None]:
    """Begins runs or goes on with them, and writes the result of each when it has ended.

    Args:
        unit: The runs, which are carried out together.
        workplace: Where they lie.
        is_time_up: Asked after every chunk. If so, runs are left with a checkpoint, and can go on later.

    Returns:
        The result of each run; None if time was up before it had ended.
    """
    todo = [run for run in unit if workplace.result(run) is None]
    # Runs that have begun go on first, because those that have not would leave them behind.
    for part in ([r for r in todo if workplace.has_begun(r)], [r for r in todo if not workplace.has_begun(r)]):
        if part and not _advanced(part, workplace, is_time_up):
            break
    return [workplace.result(run) for run in unit]


def _advanced(runs: Unit, workplace: Workplace, is_time_up: Callable[[], bool]) -> bool:
    """Whether all runs have ended; if not, time is up."""
    resume = workplace.has_begun(runs[0])
    chunks = _together(runs, workplace, resume) if len(runs) > 1 else _alone(runs[0], workplace, resume)
    with closing(chunks):
        for over in chunks:
            for run in over:
                _sum_up(run, workplace)
            if is_time_up():
                return False
    for run in runs:
        _sum_up(run, workplace)
    return True


def _sum_up(run: PlannedRun, workplace: Workplace) -> None:
    """Writes the result of a run that has ended, unless it was written before."""
    path = workplace.folder(run) / RESULT
    if not path.exists():
        write_aside(path, line_of(summary(run, workplace.folder(run))))


def units(runs: Sequence[PlannedRun], *, together: bool) -> list[Unit]:
    """Runs that are best carried out together: on a GPU, those of LHRM that differ in their seeds only, in one program.

    A GPU has room for several; on a CPU, three runs in one program took longer than one after the other.

    Args:
        runs: The runs.
        together: Whether they are carried out on a GPU.
    """
    groups: dict[Any, list[PlannedRun]] = {}
    for run in runs:
        alone = run.command is not Command.LEARN or not together
        groups.setdefault(run.key if alone else run.key_without_seed, []).append(run)
    return list(groups.values())


def _alone(run: PlannedRun, workplace: Workplace, resume: bool) -> Generator[Unit]:
    """Carries a run out, and yields after every chunk."""
    with closing(_ROWS[run.command](run, workplace, resume)) as chunks:
        for _ in chunks:
            yield ()


def _together(runs: Unit, workplace: Workplace, resume: bool) -> Generator[Unit]:
    """Carries runs out side by side, and yields after every chunk of any of them those that have ended.

    A run has ended if the others are two chunks ahead of it.
    """
    orders: list[Any] = [run.order for run in runs]
    rows = learning_rows_of_many(
        [workplace.folder(run) for run in runs],
        [order.spec for order in orders],
        steps=orders[0].budget.steps,
        episodes=orders[0].budget.episodes,
        stop_at=orders[0].stop_at,
        resume=resume,
    )
    made = [0] * len(runs)
    with closing(rows):
        for number, _ in rows:
            made[number] += 1
            yield [run for run, chunks in zip(runs, made, strict=True) if chunks < max(made) - 1]


def _policies(run: PlannedRun, workplace: Workplace, resume: bool) -> Generator[Any]:
    """The chunks of `hrm train` or `hrm learn`."""
    order: Any = run.order
    rows: Any = training_rows if run.command is Command.TRAIN else learning_rows
    chunks: Generator[Any] = rows(
        workplace.folder(run),
        order.spec,
        steps=order.budget.steps,
        episodes=order.budget.episodes,
        stop_at=order.stop_at,
        resume=resume,
    )
    return chunks


def _flat(run: PlannedRun, workplace: Workplace, resume: bool) -> Generator[Any]:
    order: Any = run.order
    folder = workplace.folder(run)
    return flat_rows(folder, order.spec, order.budget, learner_seconds=order.learner_seconds, resume=resume)


_ROWS: Final = {Command.TRAIN: _policies, Command.LEARN: _policies, Command.FLAT: _flat}


def deadline(seconds: float | None) -> Callable[[], bool]:
    """Whether so many seconds have passed since now; never, if none are given."""
    end = None if seconds is None else time.monotonic() + seconds
    return lambda: end is not None and time.monotonic() >= end


def unfinished(runs: Sequence[PlannedRun], workplace: Workplace, known: Sequence[str]) -> list[PlannedRun]:
    """The runs that have no result yet: those that have begun first, then study by study, and in each seed by seed.

    So a study that is stopped has all kinds of runs with as many seeds as there was time for.

    Args:
        runs: All runs of a study.
        workplace: Where they lie.
        known: Keys of runs whose results are known from elsewhere.
    """
    each = {run.key: run for run in runs}.values()  # two blocks may ask for the same run
    missing = [run for run in each if run.key not in known and workplace.result(run) is None]
    studies = list(dict.fromkeys(run.study for run in runs))
    return sorted(missing, key=lambda run: (not workplace.has_begun(run), studies.index(run.study), run.seed))
