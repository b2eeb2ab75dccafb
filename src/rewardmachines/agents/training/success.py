"""When training has succeeded: its last evaluations were good enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from rewardmachines.agents.training.rows import Row
from rewardmachines.runs.budget import EVALUATIONS


class Success:
    """Notes evaluations until every seed had enough good ones in a row."""

    def __init__(self, seeds: Iterable[int], stop_at: float | None) -> None:
        """Notes nothing yet.

        Args:
            seeds: The seeds of the run.
            stop_at: The mean return in three consecutive evaluations that is good enough; 0 or None for never.
        """
        self._stop_at = stop_at
        self._returns = {seed: deque[float](maxlen=EVALUATIONS) for seed in seeds}
        self._unsolved = set(self._returns)

    @property
    def is_reached(self) -> bool:
        """Whether every seed has once been good enough."""
        return not self._unsolved

    def note(self, rows: Iterable[Row]) -> None:
        """Takes the evaluations among rows into account."""
        for row in rows:
            if row.mean_return is not None and self._stop_at:
                returns = self._returns[row.seed]
                returns.append(row.mean_return)
                if len(returns) == EVALUATIONS and sum(returns) / EVALUATIONS >= self._stop_at:
                    self._unsolved.discard(row.seed)
