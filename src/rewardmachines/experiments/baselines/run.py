"""A run of a baseline on disk: its settings, its metrics, and its machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.experiments.baselines.folder import FlatFolder
from rewardmachines.experiments.baselines.rows import FlatMoment, FlatRow, row_problem
from rewardmachines.experiments.baselines.spec import BaselineOrder, BaselineSpec
from rewardmachines.files import load
from rewardmachines.runs.metrics_log import read_records


@dataclass(frozen=True)
class FlatRun:
    """A run of a baseline on disk, finished or not."""

    folder: Path
    order: BaselineOrder
    """The settings of the run: what is learned, and when it ends."""

    @property
    def spec(self) -> BaselineSpec:
        """What is learned."""
        return self.order.spec

    def rows(self) -> list[FlatRow]:
        """Reads the metrics of the run so far, a row for each chunk."""
        return list(read_records(FlatRow, FlatFolder(self.folder).metrics, row_problem))

    def moments(self) -> list[FlatMoment]:
        """Reads the moments at which chunks were done. The last one may be that at which the run was interrupted."""
        return list(read_records(FlatMoment, FlatFolder(self.folder).timing))

    def machine(self) -> Hierarchy | None:
        """Reads the machine that was learned; None if there is none, or the method's cannot be written."""
        path = FlatFolder(self.folder).machine(self.spec.task)
        return load(path) if path.is_file() else None

    @property
    def is_interrupted(self) -> bool:
        """Whether the time for searches was up before the run was over."""
        moments = self.moments()
        return bool(moments) and moments[-1].interrupted

    @property
    def is_finished(self) -> bool:
        """Whether all episodes were taken, with a machine that the method has not given up."""
        rows, budget = self.rows(), self.order.budget
        if not rows or rows[-1].failed or self.is_interrupted:
            return False
        return budget.is_spent(rows[-1].steps, rows[-1].episodes, self.moments()[-1].seconds)

    @property
    def learner_seconds(self) -> float:
        """The seconds that searches took so far."""
        moments = self.moments()
        return moments[-1].learner_seconds if moments else 0.0


def load_flat(folder: str | Path) -> FlatRun:
    """Opens the folder of a run of a baseline, finished or not.

    Args:
        folder: The folder of the run.

    Raises:
        RewardMachineError: There is no such run.
    """
    return FlatRun(Path(folder), FlatFolder(Path(folder)).read_order())
