"""The folder of a run that trains policies in Gymnasium environments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.runs.folder import file_name


@dataclass(frozen=True)
class TrainGymnasiumFolder(TrainFolder):
    """The folder of a training run. It also holds the policy with the highest mean return so far, and a report."""

    @property
    def diagnosis(self) -> Path:
        """The file that says why the task is not learned, if there is anything to say."""
        return self.path / "diagnosis.json"

    def best_policy(self, task: str, seed: int) -> Path:
        """The file of the policy with the highest mean return so far."""
        return self.path / "policies" / f"{file_name(task)}-{seed}-best.safetensors"
