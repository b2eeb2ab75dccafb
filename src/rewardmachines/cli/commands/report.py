"""The command `hrm report`: what a run has learned, as a page."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.cli.arguments.report import ReportArguments
from rewardmachines.cli.shared import Command, tell
from rewardmachines.reports.any_run import load_any_run


@dataclass(frozen=True)
class Report(ReportArguments, Command):
    """Write the report of a run, finished or not: a page with curves, machines and tables."""

    def run(self) -> int:
        # Both draw, which only this needs.
        from rewardmachines.reports import write_report
        from rewardmachines.reports.training_report import write_training_report

        run = load_any_run(self.folder)
        if isinstance(run, (TrainRun, TrainGymnasiumRun)):
            page = write_training_report(run, TrainFolder(self.folder).report)
        else:
            page = write_report(run, run.files.report)
        tell(f"wrote {page}")
        return 0
