"""Watches a run for signs that it gets nowhere."""

from __future__ import annotations

from collections import deque
from typing import Final

from rewardmachines.agents.gymnasium.diagnosis import GOOD, LEAST_STEPS, Course, Diagnosis, diagnose
from rewardmachines.agents.gymnasium.runs.session import Session
from rewardmachines.agents.training.rows import Row

EVALUATIONS: Final = 5
"""The number of evaluations in a row without any return after which a run is getting nowhere."""


class Watch:
    """Remembers the last evaluations of a run."""

    def __init__(self, wanted: float | None) -> None:
        """Begins to watch.

        Args:
            wanted: The mean return that is good enough, if one was asked for.
        """
        self._wanted = wanted or GOOD
        self._last = deque[float](maxlen=EVALUATIONS)
        self._has_warned = False

    def is_stalled(self, row: Row) -> bool:
        """Notes a chunk. Tells, once, that evaluations have returned nothing for a while."""
        if row.mean_return is not None:
            self._last.append(row.mean_return)
        is_full = len(self._last) == EVALUATIONS
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
        returned = self._last[-1] if self._last else None
        course = Course(row.steps, row.episodes, training.goals, returned, self._wanted)
        return diagnose(session.setup, training.agent_state, course)
