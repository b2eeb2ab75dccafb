"""Where the results of a study are: small files of JSON lines, one for each study, and the folders of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from rewardmachines.experiments.execution import Workplace
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result, read_results, write_results
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

    @property
    def workplace(self) -> Workplace:
        """The runs."""
        return Workplace(self.runs)

    def known(self, study: str, runs: Sequence[PlannedRun]) -> dict[str, Result]:
        """All results of a study that there are: those of its file, and of runs that have ended here."""
        kept = read_results(self.file(study))
        found = {run.key: kept[run.key] for run in runs if run.key in kept}
        for run in runs:
            if run.key not in found and (result := self.workplace.result(run)) is not None:
                found[run.key] = result
        return found

    def keep(self, study: str, runs: Sequence[PlannedRun]) -> dict[str, Result]:
        """Writes all results of a study that there are to its file, beside those of other versions of the study."""
        known = self.known(study, runs)
        write_results(self.file(study), {**read_results(self.file(study)), **known}.values())
        return known

    def everything(self, studies: Iterable[str]) -> list[Result]:
        """The results of some studies together, each run once."""
        return list({key: run for study in studies for key, run in read_results(self.file(study)).items()}.values())

    def state(self, run: PlannedRun, known: dict[str, Result]) -> tuple[State, int]:
        """How far a run is, and how many steps it has taken."""
        if (result := known.get(run.key)) is not None:
            return ("done" if result.is_complete else "interrupted"), result.steps
        if self.workplace.has_begun(run):
            return "begun", steps_so_far(self.workplace.folder(run) / "metrics.jsonl")
        return "missing", 0
