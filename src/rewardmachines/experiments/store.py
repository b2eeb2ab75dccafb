"""Where the results of a study are: small files of JSON lines, one for each study, and the folders of runs."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from rewardmachines.experiments.execution import Workplace
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result, read_results, result_files, write_results
from rewardmachines.runs.inventory import steps_so_far

State: TypeAlias = Literal["done", "interrupted", "begun", "missing"]
"""How far a run is. Interrupted: it has a result, and says that the learner's time was spent."""


@dataclass(frozen=True)
class Store:
    """Results that are kept, and runs that made them or go on making them."""

    results: Path
    """The folder of result files."""
    runs: Path
    """The folder of runs."""

    def file(self, study: str) -> Path:
        """The result file of a study."""
        return self.results / f"{study}.jsonl"

    def folder(self, study: str) -> Path:
        """The folder of a study's figures."""
        return self.results / study

    @property
    def workplace(self) -> Workplace:
        """The runs."""
        return Workplace(self.runs)

    def known(self, study: str, runs: Sequence[PlannedRun]) -> dict[str, Result]:
        """All results of a study that there are, by key.

        They are those of its file, those of equal runs that other studies have kept, and those of runs that have ended
        here.
        """
        kept = read_results(self.file(study), {run.key for run in runs})
        return self._in_order(runs, kept | self._elsewhere(study, runs, kept) | self._ended(runs, kept))

    def keep(self, study: str, runs: Sequence[PlannedRun]) -> dict[str, Result]:
        """Writes the results of runs that have ended here to the file of a study, unless a file has them already.

        Results of other versions of the study stay in the file.

        Returns:
            What `known` returns.
        """
        kept = read_results(self.file(study))
        elsewhere = self._elsewhere(study, runs, kept)
        ended = self._ended(runs, kept | elsewhere)
        if ended:
            write_results(self.file(study), (kept | ended).values())
        return self._in_order(runs, kept | elsewhere | ended)

    def _elsewhere(self, study: str, runs: Sequence[PlannedRun], kept: Container[str]) -> dict[str, Result]:
        """Results of runs that the files of other studies have, without those that are kept."""
        wanted = {run.key for run in runs if run.key not in kept}
        files = [path for path in result_files(self.results) if path != self.file(study)] if wanted else []
        return {key: result for path in files for key, result in read_results(path, wanted).items()}

    def _ended(self, runs: Sequence[PlannedRun], known: Container[str]) -> dict[str, Result]:
        """Results of runs that have ended here, without those that are known."""
        ended = {run.key: self.workplace.result(run) for run in runs if run.key not in known}
        return {key: result for key, result in ended.items() if result is not None}

    @staticmethod
    def _in_order(runs: Sequence[PlannedRun], results: Mapping[str, Result]) -> dict[str, Result]:
        """The results of some runs, in the order of the runs."""
        return {run.key: results[run.key] for run in runs if run.key in results}

    def state(self, run: PlannedRun, known: dict[str, Result]) -> tuple[State, int]:
        """How far a run is, and how many steps it has taken."""
        if (result := known.get(run.key)) is not None:
            return ("done" if result.is_complete else "interrupted"), result.steps
        if self.workplace.has_begun(run):
            return "begun", steps_so_far(self.workplace.folder(run) / "metrics.jsonl")
        return "missing", 0
