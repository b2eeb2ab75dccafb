"""The command `hrm report`: what a run has learned, as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rewardmachines.agents.training.run import TrainRun
from rewardmachines.cli.shared import Command, tell
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.reports.any_run import load_any_run


@dataclass(frozen=True)
class Report(Command):
    """Write the report of a run that learned machines, finished or not: a page with curves, machines and tables.

    hrm learn does so when it ends. Runs of rm.learn_gymnasium have no report before this command.

    Try:
      hrm report runs/learn-craftworld-op-0
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""

    def run(self) -> int:
        from rewardmachines.reports import write_report  # draws, which only this needs

        run = load_any_run(self.folder)
        if isinstance(run, TrainRun):
            raise RewardMachineError(f"{self.folder}: a run of 'hrm train' has no report: see hrm evaluate, hrm plot")
        tell(f"wrote {write_report(run, run.files.report)}")
        return 0
