"""Learners of machines: the protocol that LHRM asks of a learner, and the exact learner (Section 5).

Any object with the method `learn` of the protocol is a learner. It is an argument of `learn`, `learn_gymnasium` and
`Lhrm`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from rewardmachines.learning import Budget, Learner, LearningTask, Refutation, Result, Solvers


class MachineLearner(Protocol):
    """Finds a machine that explains the traces of a task."""

    def learn(self, task: LearningTask, budget: Budget, refuted: Collection[int] = ()) -> Result:
        """Searches for a machine that explains the traces of a task.

        The result must depend on the task alone, unless the budget is spent: only then do equal seeds give equal runs.

        Args:
            task: The traces, which do not contradict each other; the propositions that formulas may mention; the
                hierarchies that the machine may call; the name that it must have.
            budget: What this search may cost.
            refuted: The numbers of states that were too few according to earlier results of this learner, for fewer
                traces with the same propositions and callables.

        Returns:
            `Learned` with the machine. Otherwise `Unsatisfiable` or `TimedOut`: the task is then given up until there
            are enough new traces.
        """


@dataclass(frozen=True)
class ExactLearner:
    """Finds a machine with the fewest states, and proves that there is no smaller one."""

    solvers: Solvers

    def learn(self, task: LearningTask, budget: Budget, refuted: Collection[int] = ()) -> Result:
        """Searches as `MachineLearner.learn` says. Numbers of states that were refuted are not searched again."""
        learner = Learner(self.solvers)
        for states in refuted:
            learner.remember(task, Refutation(states, 0, 0.0, "earlier"))
        return learner.learn(task, budget)


def space_of(task: LearningTask) -> str:
    """A short hash of the space of machines that is searched for a task.

    Numbers of states that were refuted stay refuted as long as the space is the same.
    """
    space = repr((task.callables, task.options, task.propositions, task.has_dead_ends))
    return hashlib.sha256(space.encode()).hexdigest()[:16]
