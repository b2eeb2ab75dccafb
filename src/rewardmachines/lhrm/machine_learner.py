"""Whoever learns a machine from the traces of a task: what LHRM asks of a learner, and the exact one (Section 5).

A learner of one's own is any object with this method `learn`. It is handed to `learn`, `learn_gymnasium` or `Lhrm`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from rewardmachines.learning import Budget, Learner, LearningTask, Refutation, Result, Solvers


class MachineLearner(Protocol):
    """Finds a machine that explains traces."""

    def learn(self, task: LearningTask, refuted: Collection[int] = ()) -> Result:
        """Searches for a machine that explains the traces of a task.

        What is found must depend on the arguments alone: only then do equal seeds give equal runs.

        Args:
            task: The traces, which do not contradict each other; the propositions that formulas may mention; the
                hierarchies that the machine may call; the name that it must have.
            refuted: Numbers of states that do not suffice, as earlier results of this learner have said. There were
                fewer traces then, and the same propositions and callables.

        Returns:
            `Learned` with the machine. Otherwise `Unsatisfiable` or `TimedOut`: the task is then given up until there
            are enough new traces.
        """


@dataclass(frozen=True)
class ExactLearner:
    """Finds a machine with the fewest states, and proves that there is no smaller one."""

    solvers: Solvers
    budget: Budget
    """What one search may cost."""

    def learn(self, task: LearningTask, refuted: Collection[int] = ()) -> Result:
        """Sizes that were refuted are not searched again. See `MachineLearner.learn`."""
        learner = Learner(self.solvers)
        for states in refuted:
            learner.remember(task, Refutation(states, 0, 0.0, "earlier"))
        return learner.learn(task, self.budget)


def space_of(task: LearningTask) -> str:
    """The space of machines that explain a task, in short: what was refuted holds as long as it stays the same."""
    space = repr((task.callables, task.options, task.propositions, task.has_dead_ends))
    return hashlib.sha256(space.encode()).hexdigest()[:16]
