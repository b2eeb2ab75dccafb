"""A learner of flat machines: the smallest machine that explains the traces and calls no other."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from rewardmachines.learning import Budget, Learner, LearningTask, Result, Solvers


@dataclass(frozen=True)
class FlatLearner:
    """Searches as the exact learner does, but among machines without calls."""

    solvers: Solvers

    def learn(self, task: LearningTask, budget: Budget, refuted: Collection[int] = ()) -> Result:
        """Sizes that were refuted are searched again, which costs time but is never wrong."""
        return Learner(self.solvers).learn(replace(task, callables=()), budget)
