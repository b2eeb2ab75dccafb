"""A computation that counts: the smallest thing that a journal can write down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside
from rewardmachines.runs.checkpoint import Checkpoint, Marks
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.journal import LineFormat, Urgency
from rewardmachines.runs.metrics_log import Moment

STEPS = 10
"""Steps of a chunk."""


@dataclass(frozen=True)
class CountingFolder(RunFolder):
    """Nothing but what all runs have."""


@dataclass(frozen=True)
class Count:
    """A row: a number that depends on all chunks before it."""

    chunk: int
    steps: int
    total: int


@dataclass(frozen=True)
class CountingSnapshot:
    chunks: int


class Counting:
    """Adds the numbers of its chunks. The total is its state on the device, the number of chunks that on the host."""

    def __init__(self, folder: CountingFolder, *, urgency: Urgency = Urgency.USUAL) -> None:
        self.folder, self._urgency = folder, urgency
        self.total, self._chunks = jnp.int32(0), 0
        self.machines_written: list[bool] = []
        """Whether there were rows, each time that machines were written."""

    @property
    def lines(self) -> LineFormat:
        return LineFormat(Count, 1, lambda row: "it is negative" if row.total < 0 else None)

    @property
    def snapshot_type(self) -> type[CountingSnapshot]:
        return CountingSnapshot

    @property
    def chunks(self) -> int:
        return self._chunks

    @property
    def steps(self) -> int:
        return STEPS * self._chunks

    def advance(self) -> Sequence[Count]:
        self._chunks += 1
        self.total = self.total + self._chunks
        return [Count(self._chunks, self.steps, int(self.total))]

    def moment(self, seconds: float) -> Moment:
        return Moment(self.steps, seconds)

    def scalars(self, row: Count) -> tuple[int, Mapping[str, float]]:
        return row.steps, {"total": row.total}

    def urgency(self, rows: Sequence[Count]) -> Urgency:
        assert len(rows) == 1
        return self._urgency

    def snapshot(self) -> CountingSnapshot:
        return CountingSnapshot(self._chunks)

    def device_state(self) -> Any:
        return {"total": self.total}

    def restore(self, checkpoint: Checkpoint[CountingSnapshot]) -> None:
        if checkpoint.snapshot.chunks < 0:
            raise RewardMachineError(f"{checkpoint.where}: damaged, it is negative")
        self.total = checkpoint.device_state({"total": np.int32(0)})["total"]
        self._chunks = checkpoint.snapshot.chunks

    def write_machines(self, rows: Sequence[Count] | None) -> None:
        self.machines_written.append(rows is not None)

    def write_policies(self, marks: Marks) -> None:
        assert marks.metrics == self.folder.metrics.stat().st_size
        write_aside(self.folder.path / "policy.txt", str(int(self.total)))


def policy(folder: Path) -> int:
    return int((folder / "policy.txt").read_text())
