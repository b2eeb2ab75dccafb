"""Watches a run for signs that it gets nowhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from rewardmachines.agents.gymnasium.diagnosis import GOOD, LEAST_STEPS, Course, Diagnosis, diagnose
from rewardmachines.agents.gymnasium.runs.session import Session
from rewardmachines.agents.training.rows import Row
from rewardmachines.runs.budget import EVALUATIONS

STALLED: Final = 5
"""The number of evaluations in a row without any return after which a run is getting nowhere."""


class Watch:
    """Remembers the last evaluations of a run."""

    def __init__(self, wanted: float | None, rows: Iterable[Row] = ()) -> None:
        """Begins to watch.

        Args:
            wanted: The mean return that is good enough, if one was asked for.
            rows: Chunks that there were already.
        """
        self._wanted = wanted or GOOD
        self._last = deque[float](maxlen=STALLED)
        self.best: float | None = None
        """The highest mean return of an evaluation so far."""
        self._has_warned = False
        for row in rows:
            self.note(row)

    @property
    def returned(self) -> float | None:
        """The mean return of the evaluations that also decide whether a run ends early; None if there was none."""
        last = list(self._last)[-EVALUATIONS:]
        return sum(last) / len(last) if last else None

    def note(self, row: Row) -> None:
        """Takes the evaluation of a chunk into account, if there was one."""
        if row.mean_return is not None:
            self._last.append(row.mean_return)
            self.best = row.mean_return if self.best is None else max(self.best, row.mean_return)

    def is_stalled(self, row: Row) -> bool:
        """Notes a chunk. Tells, once, that evaluations have returned nothing for a while."""
        self.note(row)
        is_full = len(self._last) == STALLED
        if self._has_warned or row.steps < LEAST_STEPS or not is_full or max(self._last) > 0:
            return False
        self._has_warned = True
        return True

    def diagnose(self, session: Session, row: Row) -> Diagnosis:
        """Looks for reasons why the task is not learned yet.

        Args:
            session: The session.
            row: Its last chunk.
        """
        training = session.training
        course = Course(
            steps=row.steps,
            episodes=row.episodes,
            goals=training.goals,
            returned=self.returned,
            wanted=self._wanted,
            best=self.best,
            cut_off=training.cut_off,
        )
        return diagnose(session.setup, training.agent_state, course)
