"""The command `hrm plot`: learning curves of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro

from rewardmachines.cli.opened_runs import open_runs
from rewardmachines.cli.shared import Command, Flag, log
from rewardmachines.core.errors import RewardMachineError


@dataclass(frozen=True)
class Plot(Command):
    """Draw learning curves: the mean greedy return of runs, with a band of 95 % confidence over seeds.

    Runs that differ in nothing but their seeds are one curve. A run that has ended keeps its last return. Runs of hrm
    learn get a panel for each task; --mean draws the mean of all tasks, where one without a machine counts as 0. Below
    the curves it says how many instances, tasks, seeds and evaluations each point is the mean of.

    Try:
      hrm plot runs/craftworld-op-cake-hrl-0 -o curve.png
      hrm plot runs/craftworld-frl-cake-* -o cake.pdf --x episodes --window 20
      hrm plot runs/learn-craftworld-op-* -o learning.svg --mean --background transparent
    """

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.runs.run", "rewardmachines.reports.curve_plot")

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folders of runs, or the common name of several seeds."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="PATH")] = Path("curve.png")
    """The picture: a .png, .svg or .pdf."""
    x: Literal["steps", "episodes", "seconds"] = "steps"
    """The horizontal axis: steps, episodes or seconds of each run."""
    mean: Flag = False
    """Draw the mean of all tasks of a run instead of a panel for each."""
    window: int = 1
    """The number of evaluations of a seed that a point averages: the one shown and those before it."""
    background: Literal["white", "transparent"] = "white"
    """The background of the curves."""

    def run(self) -> int:
        from rewardmachines.reports.charts import Background
        from rewardmachines.reports.curve_plot import plot_curves

        if not self.folders:
            raise RewardMachineError("say which runs to plot: hrm plot runs/* -o curve.png")
        plot_curves(
            open_runs(*self.folders),
            self.x,
            self.output,
            over_tasks=self.mean,
            window=self.window,
            background=Background(self.background),
        )
        log(f"wrote {self.output}")
        return 0
