"""The command `hrm plot`: learning curves of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from rewardmachines.cli.shared import Command, tell
from rewardmachines.core.errors import RewardMachineError


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
        # Both load JAX or draw, for which nobody should wait who only asks for help.
        from rewardmachines.reports.any_run import load_any_run
        from rewardmachines.reports.curve_plot import plot_curves

        if not self.folders:
            raise RewardMachineError("say which runs to plot: hrm plot runs/* -o curve.png")
        plot_curves([load_any_run(folder) for folder in self.folders], self.x, self.output)
        tell(f"wrote {self.output}")
        return 0
