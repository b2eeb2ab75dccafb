"""The command `hrm evaluate`: the policies of a run act greedily, and are filmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import tyro

from rewardmachines.cli.device import find_modules_here, prepare_device
from rewardmachines.cli.displays import bars
from rewardmachines.cli.opened_runs import open_runs
from rewardmachines.cli.shared import Command, Flag, Quiet, console, loading, log, plain_table, write_json
from rewardmachines.core.errors import RewardMachineError

if TYPE_CHECKING:
    from rich.table import Table

    from rewardmachines.runs.run import Run, TaskEvaluation

MANY: Final = 40
"""With more instances, each of them is not shown."""


@dataclass(frozen=True)
class Evaluate(Command):
    """Let the policies of a run act greedily, once in every instance.

    Try:
      hrm evaluate runs/craftworld-op-cake-hrl-0
      hrm evaluate runs/craftworld-op-cake-hrl-0 -o cake.gif --instance 3
      hrm evaluate runs/learn-craftworld-op-0 -o map.html --task map
      hrm evaluate runs/learn-craftworld-op-0 --instances 100 --instance-seed 910000000

    Every task is judged that there is a machine for: by the environment, not by the machine. For a run in environments
    of your own, their modules are imported, from the present folder, too. They are filmed if the functions that make
    them take render_mode. Runs of several seeds are named by their common name.
    """

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.runs.run",)

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""
    gif: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="PATH")] = None
    """Also write a film of one episode, with the hierarchy drawn beside it and the options below: a .gif, an .html that
    can be paused, or with FFmpeg an .mp4 or .webm."""
    instance: int = 0
    """The instance of the film."""
    instances: int | None = None
    """The number of instances; those of the run if neither this nor --instance-seed is given."""
    instance_seed: int | None = None
    """The seed of the first instance, to evaluate policies in instances that they have never seen."""
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """The task, of a run that learned several; all if not given, and the hardest is filmed."""
    seed: int | None = None
    """The seed, of several runs side by side; all if not given, and the first is filmed."""
    best: Flag = False
    """Let the best policies so far act, not the last ones; runs in environments of your own keep them."""
    json: Flag = False
    """Print returns and lengths as JSON."""
    quiet: Quiet = False

    def run(self) -> int:
        from rewardmachines.envs.filming import check_film_path

        if self.gif is not None:
            check_film_path(self.gif)
        find_modules_here()
        with loading(f"{self.folder}: compiling, and acting in every instance …", quiet=self.quiet):
            prepare_device()
            runs = self._runs()
            evaluated = [(run, one) for run in runs for one in self._evaluations(run)]
        if self.json:
            write_json([{"seed": run.config.seed, **vars(one)} for run, one in evaluated])
        else:
            console().print(_table(evaluated, has_seeds=len(runs) > 1))
        if self.gif is not None:
            film = runs[0].record_film(
                self._filmed(runs[0]),
                instance=self.instance,
                best=self.best,
                instances=self.instances,
                instance_seed=self.instance_seed,
            )
            film.save(self.gif)
            log(f"wrote {self.gif}: {film.steps} steps, {film.end}")
        return 0

    def _runs(self) -> list[Run]:
        """The run, or those of several seeds."""
        runs = open_runs(self.folder)
        seeds = [run.config.seed for run in runs]
        if self.seed is not None and self.seed not in seeds:
            raise RewardMachineError(
                f"{self.folder}: there is no seed {self.seed}; there is {', '.join(map(str, seeds))}"
            )
        for run in runs:
            if self.best and run.config.gym is None:
                raise RewardMachineError(
                    f"{run.folder}: only runs in environments of your own keep their best policies"
                )
            if self.task is not None:
                run.check_task(self.task)
        return [run for run in runs if self.seed in (None, run.config.seed)]

    def _evaluations(self, run: Run) -> list[TaskEvaluation]:
        """The greedy episodes of the chosen task, or of all."""
        every = run.evaluate(self.instances, self.instance_seed, best=self.best)
        chosen = [one for one in every if self.task in (None, one.task)]
        if not chosen:
            which = "any task" if self.task is None else f"'{self.task}'"
            raise RewardMachineError(f"{run.folder}: there is no machine for {which} yet")
        return chosen

    def _filmed(self, run: Run) -> str:
        """The task whose episode is filmed."""
        if self.task is not None or len(run.tasks) == 1:
            return self.task or run.tasks[0]
        from rewardmachines.reports.hardest_task import hardest_task

        task = hardest_task(run)
        if task is None:
            raise RewardMachineError(f"{run.folder}: there is nothing to film: every task was given up")
        return task


def _table(evaluated: Sequence[tuple[Run, TaskEvaluation]], *, has_seeds: bool) -> Table:
    """A row for each evaluation: its mean return, and a bar and a length for each instance, unless many."""
    are_many = any(len(one.returns) > MANY for _, one in evaluated)
    rows: list[list[Any]] = []
    for run, one in evaluated:
        cells: list[Any] = [str(run.config.seed), one.task] if has_seeds else [one.task]
        if are_many:
            failed, length = sum(each <= 0 for each in one.returns), sum(one.lengths) / len(one.lengths)
            cells += [f"{one.mean_return:.3f}", f"{len(one.returns):,}", f"{failed:,}", f"{length:.0f}"]
        else:
            lengths = " ".join(f"{length:g}" for length in one.lengths)
            cells += [f"{one.mean_return:.2f}", bars(one.returns), lengths]
        rows.append(cells)
    shown = ("instances", "without success", "mean length") if are_many else ("instances", "lengths")
    names = (*(["seed"] if has_seeds else []), "task", "return", *shown)
    return plain_table(names, rows, left=("task", *(() if are_many else shown)))
