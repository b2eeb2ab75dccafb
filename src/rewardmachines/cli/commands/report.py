"""The command `hrm report`: what a run has learned, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.cli.arguments.report import ReportArguments
from rewardmachines.cli.run_options import begun_folders, common_name
from rewardmachines.cli.shared import Command, tell
from rewardmachines.reports.any_run import AnyRun, load_any_run
from rewardmachines.runs.compiled_cache import keep_compiled


@dataclass(frozen=True)
class Report(ReportArguments, Command):
    """Write the report of a run, finished or not: a page with curves, machines and tables."""

    def run(self) -> int:
        from rewardmachines.reports.page_parts import claim_folder
        from rewardmachines.reports.seed_results import check_alike
        from rewardmachines.reports.seeds_report import write_seeds_report

        folders = [run for folder in self.folders for run in _runs_of(folder)]
        runs = [load_any_run(folder) for folder in folders]
        check_alike(runs)
        keep_compiled()
        if self.output is not None:
            claim_folder(self.output)
        for run in runs:
            output = self.output if len(runs) == 1 else None
            tell(f"wrote {_write(run, output or TrainFolder(run.folder).report)}")
        if len(runs) > 1:
            tell(f"wrote {write_seeds_report(runs, self.output or _beside(self.folders, folders))}")
        return 0


def _write(run: AnyRun, folder: Path) -> Path:
    """Writes the report of one run."""
    # Both draw, which only this needs.
    from rewardmachines.reports import write_report
    from rewardmachines.reports.training_report import write_training_report

    if isinstance(run, (TrainRun, TrainGymnasiumRun)):
        return write_training_report(run, folder)
    return write_report(run, folder)


def _runs_of(folder: Path) -> list[Path]:
    """The run in a folder, those whose common name it is, or those that the folder holds."""
    if TrainFolder(folder).config.exists():
        return [folder]
    held = sorted(path.parent for path in folder.glob("*/config.json"))
    return begun_folders(folder) or held or [folder]  # the last is no run, which is told when it is opened


def _beside(given: Sequence[Path], folders: Sequence[Path]) -> Path:
    """Where the report of several runs is written: in the folder that holds them, or beside the first, by its name."""
    if len(given) == 1 and given[0].is_dir():
        return given[0] / "report"
    return Path(f"{common_name(folders)}-report")
