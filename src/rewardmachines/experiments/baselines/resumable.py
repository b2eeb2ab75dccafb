"""A session of a baseline that can stop between two chunks and go on in another process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.experiments.baselines.folder import FlatFolder
from rewardmachines.experiments.baselines.rows import FlatMoment, FlatRow, row_problem
from rewardmachines.experiments.baselines.session import FlatSession, Tally
from rewardmachines.files.document import parse_json
from rewardmachines.runs.checkpoint import Checkpoint, Marks
from rewardmachines.runs.folder import machine_text
from rewardmachines.runs.journal import LineFormat, Urgency
from rewardmachines.runs.written import remove_file, write_file


@dataclass(frozen=True)
class FlatSnapshot:
    """The state of a session: what was counted, and the state of the learner as JSON."""

    tally: Tally
    learner: str


@dataclass(frozen=True)
class ResumableFlat:
    """A session that can be resumed, and whose machine is written to the folder of a run."""

    session: FlatSession
    folder: FlatFolder
    task: str
    """The name of the task, which the machine file has."""

    @property
    def lines(self) -> LineFormat:
        """The format of its rows and moments."""
        return LineFormat(FlatRow, 1, row_problem, FlatMoment)

    @property
    def snapshot_type(self) -> type[FlatSnapshot]:
        """The dataclass of its snapshots."""
        return FlatSnapshot

    @property
    def chunks(self) -> int:
        """The number of chunks that are done."""
        return self.session.tally.chunks

    @property
    def steps(self) -> int:
        """The number of environment steps that were taken in them."""
        return self.session.tally.steps

    def advance(self) -> Sequence[FlatRow]:
        """Computes one chunk, and returns its row; no row if the time for searches was up."""
        row = self.session.advance()
        return [] if row is None else [row]

    def moment(self, seconds: float) -> FlatMoment:
        """The moment at which the last chunk was done, or the time for searches was up."""
        learner_seconds = round(self.session.searches.seconds, 3)
        return FlatMoment(self.steps, seconds, learner_seconds, self.session.is_interrupted)

    def scalars(self, row: FlatRow) -> tuple[int, Mapping[str, float]]:
        """The number of steps of a row, and the values that TensorBoard shows there."""
        shown = {"episodes": row.episodes, "goals": row.goals, "calls": row.calls}
        if row.states is not None and row.edges is not None:
            shown |= {"states": row.states, "edges": row.edges}
        return row.steps, shown

    def urgency(self, rows: Sequence[FlatRow]) -> Urgency:
        """Checkpoints follow chunks soon: a search may take long to compute again."""
        return Urgency.NEWS if rows else Urgency.NONE

    def snapshot(self) -> FlatSnapshot:
        """What was counted, and the state of the learner."""
        return FlatSnapshot(self.session.tally, json.dumps(self.session.learner.snapshot()))

    def device_state(self) -> Any:
        """Nothing: episodes are computed anew from their numbers."""
        return {}

    def restore(self, checkpoint: Checkpoint[FlatSnapshot]) -> None:
        """Restores the state that was written to a checkpoint."""
        try:
            self.session.learner.restore(parse_json(checkpoint.snapshot.learner, checkpoint.where))
        except (ValueError, KeyError, TypeError, IndexError):
            raise RewardMachineError(f"{checkpoint.where}: damaged, this is not the state of such a learner") from None
        self.session.resume(checkpoint.snapshot.tally)

    def write_machines(self, rows: Sequence[FlatRow] | None) -> None:  # noqa: ARG002
        """Writes the present machine, if it can be written as a hierarchy and has changed."""
        machine, path = self.session.learner.machine, self.folder.machine(self.task)
        if machine is not None:
            write_file(path, machine_text(machine))
        else:
            remove_file(path)

    def write_policies(self, marks: Marks) -> None:
        """Writes nothing: baselines learn no policies here."""
