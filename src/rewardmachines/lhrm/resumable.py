"""LHRM as a computation that can stop between two chunks and go on in another process: the `Resumable` of a journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row, row_check, scalars
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.machine_files import MachineFiles
from rewardmachines.lhrm.policy_file import write_policies
from rewardmachines.lhrm.snapshot import Snapshot, restore, take_snapshot
from rewardmachines.runs.checkpoint import Checkpoint, Marks
from rewardmachines.runs.journal import LineFormat, Urgency
from rewardmachines.runs.metrics_log import Moment


@dataclass(frozen=True)
class LearnMoment(Moment):
    """The moment at which a chunk was done and machines were learned from it."""

    learner_seconds: float
    """The part of the seconds that searches for machines took."""


class Chunk(NamedTuple):
    """The argument of callbacks: a chunk, and the algorithm after it."""

    run: Lhrm
    """The algorithm after the chunk."""
    row: Row
    """The metrics of the chunk."""
    moment: LearnMoment
    """The moment at which it was done."""


Callback = Callable[[Chunk], object]
"""Called with every chunk."""


def moment_of(run: Lhrm, seconds: float) -> LearnMoment:
    """The moment at which the last chunk of a run was done, after so many seconds."""
    learner_seconds = sum(learning.seconds for learning in run.learnings.values())
    return LearnMoment(run.tally.steps, seconds, round(learner_seconds, 3))


class ResumableLearning:
    """A run of LHRM that can be resumed, and whose machines, examples and policies are written to its folder."""

    def __init__(self, run: Lhrm, folder: LearnFolder) -> None:
        self.run, self._folder = run, folder
        self._files = MachineFiles(folder)

    @property
    def lines(self) -> LineFormat:
        """The format of its rows and moments."""
        return LineFormat(Row, 1, row_check(self.run.tasks, self.run.worlds.instances), LearnMoment)

    @property
    def snapshot_type(self) -> type[Snapshot]:
        """The dataclass of its snapshots."""
        return Snapshot

    @property
    def chunks(self) -> int:
        """The number of chunks that are done."""
        return self.run.tally.chunks

    @property
    def steps(self) -> int:
        """The number of environment steps that were taken in them."""
        return self.run.tally.steps

    def advance(self) -> Sequence[Row]:
        """Computes one chunk, and returns its rows."""
        return [self.run.advance()]

    def moment(self, seconds: float) -> LearnMoment:
        """The moment at which the last chunk was done, after so many seconds."""
        return moment_of(self.run, seconds)

    def scalars(self, row: Row) -> tuple[int, Mapping[str, float]]:
        """The number of steps of a row, and the values that TensorBoard shows there."""
        return row.steps, scalars(row, self.run.tasks)

    def urgency(self, rows: Sequence[Row]) -> Urgency:
        """Checkpoints follow new machines soon, because a search may have taken long."""
        return Urgency.NEWS if any(row.learned for row in rows) else Urgency.USUAL

    def snapshot(self) -> Snapshot:
        """The state of the algorithm that is not on the device."""
        return take_snapshot(self.run)

    def device_state(self) -> Any:
        """The states of agents and environments, as a tree of arrays."""
        return self.run.state

    def restore(self, checkpoint: Checkpoint[Snapshot]) -> None:
        """Restores the state of a checkpoint. If every task was given up, there are no arrays to restore."""
        restore(self.run, checkpoint.snapshot, checkpoint.where)
        if not self.run.is_stuck:
            self.run.state = checkpoint.device_state(self.run.driver.shapes(self.run.knowledge))

    def write_machines(self, rows: Sequence[Row] | None) -> None:
        """Writes the files of machines if a chunk has changed any; also if there was no chunk yet in this process."""
        if rows is None or any(row.learned for row in rows):
            self._files.update(self.run)

    def write_policies(self, marks: Marks) -> None:
        """Writes the networks of all options, with the machines that they belong to."""
        run = self.run
        write_policies(self._folder.policies, run.config.agent, run.state.agent, take_snapshot(run), marks)
