"""The command `hrm report`: what a run has learned, as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from rewardmachines.cli.device import prepare_device
from rewardmachines.cli.opened_runs import open_runs
from rewardmachines.cli.run_command import write_reports
from rewardmachines.cli.shared import Command
from rewardmachines.core.errors import RewardMachineError


@dataclass(frozen=True)
class Report(Command):
    """Write the report of a run, finished or not: a page with curves, machines and tables.

    hrm train and hrm learn do so when they end; runs of rm.train and rm.learn have no report before this command.

    Of several runs that differ in nothing but their seeds, it also writes a page with the mean of all, and tables by
    seed. They are named one by one, by their common name without the seed, or by the folder that holds them.

    Try:
      hrm report runs/learn-craftworld-op-0
      hrm report runs/learn-craftworld-op
      hrm report runs/cake-0 runs/cake-1 runs/cake-2 -o cake
    """

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.runs.run", "rewardmachines.reports")

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folders of runs."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """The page; in the folder of a single run, or beside several, if not given."""

    def run(self) -> int:
        from rewardmachines.reports.seeds_report import check_alike

        if not self.folders:
            raise RewardMachineError("say which runs to report on: hrm report runs/learn-craftworld-op-0")
        runs = open_runs(*self.folders)
        check_alike(runs)
        prepare_device()
        held = len(runs) > 1 and len(self.folders) == 1 and self.folders[0].is_dir()
        write_reports(runs, self.folders[0] / "report" if held and self.output is None else self.output)
        return 0
