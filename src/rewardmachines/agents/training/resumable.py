"""A training session that can stop between two chunks and go on in another process: the `Resumable` of a journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.policy_file import write_policy
from rewardmachines.agents.training.rows import Row, row_check, scalars
from rewardmachines.agents.training.session import Session, Tally
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.checkpoint import Checkpoint, Marks
from rewardmachines.runs.journal import LineFormat, Urgency
from rewardmachines.runs.metrics_log import Moment


@dataclass(frozen=True)
class TrainSnapshot:
    """The state of a session that is not on the device, as JSON can hold it. The fields are those of `Tally`."""

    chunks: int
    steps: tuple[int, ...]
    episodes: tuple[int, ...]
    evaluated: tuple[int, ...]
    returns: tuple[tuple[float, ...], ...]

    @staticmethod
    def of(tally: Tally) -> TrainSnapshot:
        """Converts the counts of a session."""
        return TrainSnapshot(
            chunks=tally.chunks,
            steps=tuple(tally.steps.tolist()),
            episodes=tuple(tally.episodes.tolist()),
            evaluated=tuple(tally.evaluated.tolist()),
            returns=tuple(map(tuple, tally.returns.tolist())),
        )

    def tally(self, like: Tally, where: str) -> Tally:
        """Converts the snapshot back to the counts of a session.

        Args:
            like: The counts of a session with the same seeds and instances.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: The snapshot has other numbers of seeds or instances.
        """
        counted = {name: np.array(getattr(self, name), np.int64) for name in ("steps", "episodes", "evaluated")}
        lengths = {len(row) for row in self.returns}
        has_shape = len(lengths) == 1 and all(len(counts) == len(like.steps) for counts in counted.values())
        if not has_shape or (len(self.returns), *lengths) != like.returns.shape:
            raise RewardMachineError(f"{where}: damaged, it speaks of other seeds or instances than the run")
        return Tally(chunks=self.chunks, returns=np.array(self.returns, np.float64), **counted)


@dataclass(frozen=True)
class ResumableTraining:
    """A session that can be resumed, and whose policies are written to the folder of a run."""

    session: Session
    folder: TrainFolder

    @property
    def lines(self) -> LineFormat:
        """The format of its rows and moments."""
        spec = self.session.spec
        return LineFormat(Row, spec.seeds, row_check(spec.seed_range, spec.instances))

    @property
    def snapshot_type(self) -> type[TrainSnapshot]:
        """The dataclass of its snapshots."""
        return TrainSnapshot

    @property
    def chunks(self) -> int:
        """The number of chunks that are done."""
        return self.session.tally.chunks

    @property
    def steps(self) -> int:
        """The number of environment steps that were taken in them."""
        return self.session.steps

    def advance(self) -> Sequence[Row]:
        """Computes one chunk, and returns its rows."""
        return self.session.advance()

    def moment(self, seconds: float) -> Moment:
        """The moment at which the last chunk was done, after so many seconds."""
        return Moment(self.session.steps, seconds)

    def scalars(self, row: Row) -> tuple[int, Mapping[str, float]]:
        """The number of steps of a row, and the values that TensorBoard shows there."""
        return row.steps, scalars(row)

    def urgency(self, rows: Sequence[Row]) -> Urgency:
        """Checkpoints follow evaluations only, so that the policies on disk are those that were evaluated last."""
        return Urgency.NONE if rows[0].returns is None else Urgency.USUAL

    def snapshot(self) -> TrainSnapshot:
        """The counts of the session."""
        return TrainSnapshot.of(self.session.tally)

    def device_state(self) -> Any:
        """The states of agents and environments, as a tree of arrays."""
        return self.session.state

    def restore(self, checkpoint: Checkpoint[TrainSnapshot]) -> None:
        """Restores the state that was written to a checkpoint."""
        session = self.session
        tally = checkpoint.snapshot.tally(session.tally, checkpoint.where)
        session.state = checkpoint.device_state(session.state)
        session.tally = tally

    def write_machines(self, rows: Sequence[Row] | None) -> None:
        """Writes nothing: the hierarchy is given, and was written with the settings."""

    def write_policies(self, marks: Marks) -> None:  # noqa: ARG002
        """Writes the networks of every seed."""
        session, spec = self.session, self.session.spec
        for number in range(spec.seeds):
            path = self.folder.policy(spec.task, spec.seed + number)
            which = number if spec.seeds > 1 else None
            write_policy(path, spec.config, session.state.agent, session.tally.chunks, which)
