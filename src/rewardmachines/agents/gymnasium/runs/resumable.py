"""Training in Gymnasium environments that can stop between two chunks and go on in another process.

Environments cannot be saved. A checkpoint says how the episode of each began and what was done since, and whoever goes
on replays it. Where that leads elsewhere, because the environment is not decided by its seed, a new episode begins.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rewardmachines.agents.batches import where_rows
from rewardmachines.agents.gymnasium.environments import Numbers
from rewardmachines.agents.gymnasium.episode_records import EpisodeRecord, ReplayWarning, are_playable, lost_episodes
from rewardmachines.agents.gymnasium.runs.folder import TrainGymnasiumFolder
from rewardmachines.agents.gymnasium.runs.session import Session, Tally
from rewardmachines.agents.training.policy_file import write_policy
from rewardmachines.agents.training.rows import Row, row_check, scalars
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.checkpoint import Checkpoint, Marks
from rewardmachines.runs.journal import LineFormat, Urgency
from rewardmachines.runs.metrics_log import Moment
from rewardmachines.runs.random_state import set_state, state_text


@dataclass(frozen=True)
class TrainGymnasiumSnapshot:
    """The state of a session that is not on the device, as JSON can hold it."""

    chunks: int
    turns: int
    """Vector steps so far."""
    steps: int
    episodes: int
    goals: int
    cut_off: int
    """Episodes that were cut off by a limit of steps."""
    evaluated: int
    """Episodes that had ended at the last evaluation."""
    returns: tuple[float, ...]
    """The running return in each instance."""
    best: float | None
    """The highest mean return of an evaluation so far, whose policy was kept."""
    chance: str
    """The state of the generator that draws instances, as JSON."""
    under_way: tuple[EpisodeRecord, ...]
    """The episode that is under way in each environment."""
    evaluations: tuple[int, ...]
    """How many episodes each environment for evaluations has begun."""


class DeviceState(NamedTuple):
    """The state of a session that is on the device."""

    agent: Any
    crew: Any
    key: Any


class ResumableTrainGymnasium:
    """A session that can be resumed. The best policy so far is kept beside the last one."""

    def __init__(self, session: Session, folder: TrainGymnasiumFolder) -> None:
        self._session, self._folder = session, folder
        self._best: float | None = None

    @property
    def lines(self) -> LineFormat:
        """The format of its rows and moments."""
        spec = self._session.spec
        return LineFormat(Row, 1, row_check(spec.seeds, spec.greedy_episodes))

    @property
    def snapshot_type(self) -> type[TrainGymnasiumSnapshot]:
        """The dataclass of its snapshots."""
        return TrainGymnasiumSnapshot

    @property
    def chunks(self) -> int:
        """The number of chunks that are done."""
        return self._session.tally.chunks

    @property
    def steps(self) -> int:
        """The number of environment steps that were taken in them."""
        return self._session.training.steps

    def advance(self) -> Sequence[Row]:
        """Computes one chunk, and returns its row."""
        return [self._session.advance()]

    def moment(self, seconds: float) -> Moment:
        """The moment at which the last chunk was done, after so many seconds."""
        return Moment(self.steps, seconds)

    def scalars(self, row: Row) -> tuple[int, Mapping[str, float]]:
        """The number of steps of a row, and the values that TensorBoard shows there."""
        return row.steps, scalars(row)

    def urgency(self, rows: Sequence[Row]) -> Urgency:  # noqa: ARG002
        """Checkpoints follow any chunk: environments may be slow, and evaluations rare."""
        return Urgency.USUAL

    def snapshot(self) -> TrainGymnasiumSnapshot:
        """The state that is not on the device."""
        session, training, tally = self._session, self._session.training, self._session.tally
        return TrainGymnasiumSnapshot(
            chunks=tally.chunks,
            turns=training.turns,
            steps=training.steps,
            episodes=training.episodes,
            goals=training.goals,
            cut_off=training.cut_off,
            evaluated=tally.evaluated,
            returns=tally.returns,
            best=self._best,
            chance=state_text(session.sensors.chance),
            under_way=session.environments.records(),
            evaluations=tuple(session.evaluation.begun),
        )

    def device_state(self) -> DeviceState:
        """The agent, and what it is doing in each environment, as a tree of arrays."""
        training = self._session.training
        return DeviceState(training.agent_state, training.crew, training.key)

    def restore(self, checkpoint: Checkpoint[TrainGymnasiumSnapshot]) -> None:
        """Restores the state of a checkpoint, and replays the episodes that were under way."""
        session, training, snapshot = self._session, self._session.training, checkpoint.snapshot
        self._check(snapshot, checkpoint.where)
        set_state(session.sensors.chance, snapshot.chance, checkpoint.where)
        state: DeviceState = checkpoint.device_state(self.device_state())
        training.agent_state, training.crew, training.key = state
        training.turns, training.steps = snapshot.turns, snapshot.steps
        training.episodes, training.goals, training.cut_off = snapshot.episodes, snapshot.goals, snapshot.cut_off
        session.tally = Tally(snapshot.chunks, snapshot.evaluated, snapshot.returns)
        session.weigh()
        session.evaluation.begun = list(snapshot.evaluations)
        self._best = snapshot.best
        is_lost = session.environments.replay(snapshot.under_way)
        if is_lost.any():
            warnings.warn(lost_episodes(is_lost), ReplayWarning, stacklevel=2)
            self._begin_others(is_lost)

    def _begin_others(self, is_lost: Numbers) -> None:
        """Begins new episodes where those of the checkpoint could not be replayed."""
        session, training = self._session, self._session.training
        first, root = session.sensors.begin(is_lost), session.setup.plan.lowered.root
        key = jax.random.fold_in(training.key, 1)
        fresh = session.setup.programs.begin(session.setup.task, root, *first, key)
        training.crew = where_rows(jnp.asarray(is_lost), fresh, training.crew)

    def _check(self, snapshot: TrainGymnasiumSnapshot, where: str) -> None:
        spec = self._session.spec
        counts = len(snapshot.under_way), len(snapshot.evaluations), len(snapshot.returns)
        expected = spec.config.environments, spec.greedy_episodes, spec.instances or 0
        if counts != expected or not are_playable(snapshot.under_way, tasks=1, actions=spec.senses.actions):
            raise RewardMachineError(f"{where}: damaged, its episodes are not those of the run")

    def write_machines(self, rows: Sequence[Row] | None) -> None:
        """Writes no machine, since the hierarchy is given; writes the policy if it is the best so far."""
        spec = self._session.spec
        for row in rows or ():
            returned = row.mean_return
            if returned is not None and (self._best is None or returned >= self._best):
                self._best = returned
                self._write(self._folder.best_policy(spec.task, spec.seed))

    def write_policies(self, marks: Marks) -> None:  # noqa: ARG002
        """Writes the networks of the last policy."""
        self._write(self._folder.policy(self._session.spec.task, self._session.spec.seed))

    def _write(self, path: Any) -> None:
        write_policy(path, self._session.spec.config, self._session.training.agent_state, self.chunks)
