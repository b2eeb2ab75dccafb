"""A baseline that learns from random episodes, a chunk of them at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from rewardmachines.experiments.baselines.episode import FlatEpisode
from rewardmachines.experiments.baselines.methods import method_named
from rewardmachines.experiments.baselines.protocol import OutOfTime, Result
from rewardmachines.experiments.baselines.random_episodes import RandomEpisodes
from rewardmachines.experiments.baselines.rows import FlatRow
from rewardmachines.experiments.baselines.search_process import Searches
from rewardmachines.experiments.baselines.spec import BaselineOrder
from rewardmachines.experiments.baselines.truth import flat_task
from rewardmachines.traces import Outcome

CHUNK: Final = 100
"""The number of episodes of a chunk."""


@dataclass(frozen=True)
class Tally:
    """What is counted in a run."""

    chunks: int = 0
    steps: int = 0
    episodes: int = 0
    calls: int = 0
    """Searches that were done."""
    learner_seconds: float = 0.0
    """The seconds that they took."""
    failed: bool = False
    """Whether the method has found that there is no machine within its bounds."""


class FlatSession:
    """A learner, its episodes, and what was counted until the end of the last chunk."""

    def __init__(self, order: BaselineOrder) -> None:
        """Makes the learner, which has not begun."""
        spec = order.spec
        scenario = spec.scenario()
        task = flat_task(scenario, spec.task)
        self._limit = order.budget.episodes
        self._source = RandomEpisodes(scenario, task, spec.seed)
        self._upcoming: Iterator[FlatEpisode] | None = None
        self.searches = Searches(order.learner_seconds)
        self.learner = method_named(spec.method).make(task, spec.config, spec.seed, self.searches)
        self.tally = Tally()
        self.is_interrupted = False
        """Whether the time for searches was up."""

    def resume(self, tally: Tally) -> None:
        """Goes on from what was counted in another process. The learner is restored by itself."""
        self.tally = tally
        self.searches.seconds, self.searches.calls = tally.learner_seconds, tally.calls
        self._upcoming = None

    def advance(self) -> FlatRow | None:
        """Takes the episodes of one chunk.

        Returns:
            The metrics of the chunk; None if the time for searches was up. Then everything is as it was before.
        """
        before = self.learner.snapshot()
        try:
            return self._chunk()
        except OutOfTime:
            self.learner.restore(before)
            self._upcoming = None
            self.is_interrupted = True
            return None

    def _chunk(self) -> FlatRow:
        tally, goals = self.tally, 0
        if self._upcoming is None:
            self._upcoming = self._source.after(tally.episodes)
        left = CHUNK if self._limit is None else min(CHUNK, self._limit - tally.episodes)
        for _ in range(left):
            episode = next(self._upcoming)
            attempt = self.learner.take(episode)
            goals += episode.outcome is Outcome.GOAL
            failed = attempt is not None and attempt.result is Result.FAILED
            tally = replace(tally, steps=tally.steps + episode.steps, episodes=episode.number, failed=failed)
            if failed:
                break
        self.tally = replace(
            tally, chunks=tally.chunks + 1, calls=self.searches.calls, learner_seconds=self.searches.seconds
        )
        return self._row(goals)

    def _row(self, goals: int) -> FlatRow:
        tally, size = self.tally, self.learner.size
        return FlatRow(
            chunk=tally.chunks,
            steps=tally.steps,
            episodes=tally.episodes,
            goals=goals,
            calls=tally.calls,
            states=None if size is None else size.states,
            edges=None if size is None else size.edges,
            failed=tally.failed,
        )
