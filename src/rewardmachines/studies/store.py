"""The results of studies, in small files of JSON lines, one for each study, and the folders of their runs."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from rewardmachines.runs.folder import steps_so_far
from rewardmachines.studies.execution import Workplace
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result, read_results, result_files, write_results

State: TypeAlias = Literal["done", "interrupted", "begun", "missing"]
"""The state of a run. Interrupted: it has a result, and says that the learner's time was spent."""


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

    def known(self, runs: Sequence[PlannedRun]) -> dict[str, Result]:
        """All results of some runs that there are, by key.

        They are those in the files of their studies, those of equal runs that other studies have kept, and those of
        runs that have ended here.
        """
        kept = {key: result for own in self._kept(runs).values() for key, result in own.items()}
        return self._in_order(runs, kept | self._of_other_studies(runs, kept) | self._ended(runs, kept))

    def keep(self, runs: Sequence[PlannedRun]) -> dict[str, Result]:
        """Writes the results of runs that have ended here to the files of their studies, unless a file has them.

        Results of other versions of a study stay in its file.

        Returns:
            What `known` returns.
        """
        known = self.known(runs)
        for study, kept in self._kept(runs).items():
            own = [run for run in runs if run.study == study]
            others = self._of_other_studies(own, kept)
            if ended := self._ended(own, kept | others):
                write_results(self.file(study), (kept | ended).values())
        return known

    def _kept(self, runs: Sequence[PlannedRun]) -> dict[str, dict[str, Result]]:
        """The results in the files of the studies of some runs, by study and key."""
        return {study: read_results(self.file(study)) for study in dict.fromkeys(run.study for run in runs)}

    def _of_other_studies(self, runs: Sequence[PlannedRun], kept: Container[str]) -> dict[str, Result]:
        """Results of runs that the files of other studies have, without those that are kept."""
        wanted = {run.key for run in runs if run.key not in kept}
        own = {self.file(run.study) for run in runs}
        files = [path for path in result_files(self.results) if path not in own] if wanted else []
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
        """The state of a run, and the number of its steps."""
        if (result := known.get(run.key)) is not None:
            return ("done" if result.is_complete else "interrupted"), result.steps
        if self.workplace.has_begun(run):
            return "begun", steps_so_far(self.workplace.files(run).metrics)
        return "missing", 0
