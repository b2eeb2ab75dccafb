"""LHRM on Gymnasium environments as a computation that can stop between two chunks and go on in another process.

Environments cannot be saved. A checkpoint says how the episode of each began and what was done since, and whoever goes
on replays it. Where that leads elsewhere, because the environment is not decided by its seed, a new episode begins.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardmachines.agents.gymnasium.episode_records import ReplayWarning, lost_episodes
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.policy_file import write_policies
from rewardmachines.lhrm.resumable import LearnMoment, ResumableLearning
from rewardmachines.lhrm.snapshot import Snapshot, restore, take_snapshot
from rewardmachines.lhrm.worlds.gymnasium.records import WorldsRecord
from rewardmachines.lhrm.worlds.gymnasium.worlds import GymnasiumWorlds
from rewardmachines.runs.checkpoint import Checkpoint, Marks
from rewardmachines.runs.journal import LineFormat, Urgency


@dataclass(frozen=True)
class GymnasiumSnapshot:
    """All of the state of a run that is not on the device."""

    algorithm: Snapshot
    worlds: WorldsRecord
    """How environments come to where they were."""
    best: float | None
    """The highest mean return of an evaluation so far, if its policies were kept."""


class ResumableGymnasium:
    """A run on Gymnasium environments that can be resumed. The best policies so far are kept beside the last ones."""

    def __init__(self, run: Lhrm, worlds: GymnasiumWorlds, folder: LearnFolder) -> None:
        self._learning = ResumableLearning(run, folder)
        self._run, self._worlds, self._folder = run, worlds, folder
        self._best: float | None = None

    @property
    def lines(self) -> LineFormat:
        """The format of its rows and moments."""
        return self._learning.lines

    @property
    def snapshot_type(self) -> type[GymnasiumSnapshot]:
        """The dataclass of its snapshots."""
        return GymnasiumSnapshot

    @property
    def chunks(self) -> int:
        """The number of chunks that are done."""
        return self._learning.chunks

    @property
    def steps(self) -> int:
        """The number of environment steps that were taken in them."""
        return self._learning.steps

    def advance(self) -> Sequence[Row]:
        """Computes one chunk, and returns its rows."""
        return self._learning.advance()

    def moment(self, seconds: float) -> LearnMoment:
        """The moment at which the last chunk was done, after so many seconds."""
        return self._learning.moment(seconds)

    def scalars(self, row: Row) -> tuple[int, Mapping[str, float]]:
        """The number of steps of a row, and the values that TensorBoard shows there."""
        return self._learning.scalars(row)

    def urgency(self, rows: Sequence[Row]) -> Urgency:
        """Checkpoints follow new machines soon, because a search may have taken long."""
        return self._learning.urgency(rows)

    def snapshot(self) -> GymnasiumSnapshot:
        """The state that is not on the device."""
        return GymnasiumSnapshot(take_snapshot(self._run), self._worlds.record(), self._best)

    def device_state(self) -> Any:
        """The state of the agent, as a tree of arrays."""
        return self._learning.device_state()

    def restore(self, checkpoint: Checkpoint[GymnasiumSnapshot]) -> None:
        """Restores the state of a checkpoint. If every task was given up, nothing goes on in the environments."""
        run, snapshot = self._run, checkpoint.snapshot
        restore(run, snapshot.algorithm, checkpoint.where)
        self._best = snapshot.best
        if run.is_stuck:
            return
        knowledge, driver = run.knowledge, run.driver
        is_lost = self._worlds.restore(snapshot.worlds, checkpoint.where)
        if is_lost.any():
            warnings.warn(lost_episodes(is_lost), ReplayWarning, stacklevel=2)
        run.state = checkpoint.device_state(driver.shapes(knowledge))
        if is_lost.any():
            run.state = driver.restart(knowledge, run.state, is_lost)

    def write_machines(self, rows: Sequence[Row] | None) -> None:
        """Writes the files of machines if a chunk has changed any, and the policies if they are the best so far."""
        self._learning.write_machines(rows)
        for row in rows or ():
            returned = row.mean_return
            # Policies of machines that were learned in this chunk begin afresh: they were not those that were judged.
            if returned is not None and not row.learned and (self._best is None or returned >= self._best):
                self._best = returned
                run, snapshot = self._run, take_snapshot(self._run)
                write_policies(self._folder.best_policies, run.config.agent, run.state.agent, snapshot, Marks())

    def write_policies(self, marks: Marks) -> None:
        """Writes the networks of all options, with the machines that they belong to."""
        self._learning.write_policies(marks)
