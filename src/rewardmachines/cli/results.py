"""Looking at what runs have learned, whether of `hrm train` or of `hrm learn`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import tyro
from rich.table import Table

from rewardmachines.agents.training.folder import Folder
from rewardmachines.agents.training.run import Evaluation, Run, load_run
from rewardmachines.cli.command import Command, Flag, console, put_json, tell
from rewardmachines.cli.progress.train import bars
from rewardmachines.cli.run_command import keep_compiled
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.policies import TaskEvaluation
from rewardmachines.lhrm.run import LhrmRun, load_learning
from rewardmachines.reports.hardest_task import hardest_task
from rewardmachines.runs.config_file import LEARN, command_of
from rewardmachines.runs.records import to_plain

if TYPE_CHECKING:
    from rewardmachines.reports.film import Take

AnyRun: TypeAlias = Run | LhrmRun


def any_run(folder: Path) -> AnyRun:
    """The run of either command."""
    place = Folder(folder)
    place.check_run()
    return load_learning(folder) if command_of(place.config) == LEARN else load_run(folder)


@dataclass(frozen=True)
class Evaluate(Command):
    """Let the policies of a run act greedily, once in every instance.

    Try:
      hrm evaluate runs/craftworld-op-cake-hrl-0
      hrm evaluate runs/craftworld-op-cake-hrl-0 --gif cake.gif --instance 3
      hrm evaluate runs/learn-craftworld-op-0 --gif map.gif --task map

    Of a run of hrm learn, every task is judged that there is a machine for: by the environment, not by the machine.
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""
    gif: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Also write a film of one episode, with the hierarchy and the options beside it."""
    instance: int = 0
    """Which instance is filmed."""
    task: str | None = None
    """Which task, of a run that learned several; all if not given, and the hardest is filmed."""
    seed: int | None = None
    """Whose policy is filmed, of a run with several; the first one's if not given."""
    json: Flag = False
    """Print returns and lengths as JSON."""

    def run(self) -> int:
        keep_compiled()
        run = any_run(self.folder)
        found = self._judged(run)
        if self.json:
            put_json([to_plain(one) for one in found])
        else:
            console().print(_table(found))
        if self.gif is not None:
            filmed = self._filmed(run)
            filmed.save(self.gif)
            tell(f"wrote {self.gif}: {filmed.steps} steps, {filmed.end}")
        return 0

    def _judged(self, run: AnyRun) -> Sequence[Evaluation | TaskEvaluation]:
        if isinstance(run, Run):
            if self.task not in (None, run.spec.task):
                raise RewardMachineError(f"{self.folder}: this run is about '{run.spec.task}', not '{self.task}'")
            return run.evaluate()
        if self.seed is not None:
            raise RewardMachineError(f"{self.folder}: a run of 'hrm learn' has one seed; choose a --task instead")
        if self.task is not None:
            run.check_task(self.task)
        found = [one for one in run.evaluate() if self.task in (None, one.task)]
        if not found:
            whom = "any task" if self.task is None else f"'{self.task}'"
            raise RewardMachineError(f"{self.folder}: there is no machine for {whom} yet")
        return found

    def _filmed(self, run: AnyRun) -> Take:
        from rewardmachines.reports.film import take

        if isinstance(run, Run):
            return take(run.environment(self.instance), run.policy(run.spec.task, self.seed), run.spec.task)
        chosen = self.task or hardest_task(run)
        if chosen is None:
            raise RewardMachineError(f"{self.folder}: there is nothing to film: every task was given up")
        return take(run.environment(chosen, self.instance), run.policy(chosen), chosen)


def _table(found: Sequence[Evaluation | TaskEvaluation]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    of_tasks = any(isinstance(one, TaskEvaluation) for one in found)
    table.add_column("task" if of_tasks else "seed", justify="left" if of_tasks else "right")
    table.add_column("return", justify="right")
    for name in ("instances", "lengths"):
        table.add_column(name)
    for one in found:
        whose = one.task if isinstance(one, TaskEvaluation) else str(one.seed)
        mean = sum(one.returns) / len(one.returns)
        table.add_row(whose, f"{mean:.2f}", bars(one.returns), " ".join(map(str, one.lengths)))
    return table


@dataclass(frozen=True)
class Plot(Command):
    """Draw learning curves: the mean greedy return of runs, with a band of 95 % confidence over seeds.

    Runs that differ in nothing but their seeds are one curve. A run that has ended keeps its last return. The return
    of a run of hrm learn is the mean over its tasks; a task without a machine returns 0.

    Try:
      hrm plot runs/craftworld-op-cake-hrl-0 -o curve.png
      hrm plot runs/craftworld-frl-cake-* -o cake.png --x episodes
      hrm plot runs/learn-craftworld-op-* -o learning.png
    """

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folders of runs."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="PATH")] = Path("curve.png")
    """Where to write the picture."""
    x: Literal["steps", "episodes", "seconds"] = "steps"
    """What the return is drawn against: what each seed took of it; seconds are those of all seeds together."""

    def run(self) -> int:
        from rewardmachines.cli.curves import draw

        if not self.folders:
            raise RewardMachineError("say which runs to plot: hrm plot runs/* -o curve.png")
        draw([any_run(folder) for folder in self.folders], self.x, self.output)
        tell(f"wrote {self.output}")
        return 0
