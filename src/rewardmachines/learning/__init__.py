"""A machine from traces: exact, smallest, with open solvers. The only home of the solvers."""

from rewardmachines.learning.asking import Candidates, EquivalenceOracle, MembershipOracle, learn_by_asking
from rewardmachines.learning.identification import Identified, identify
from rewardmachines.learning.induction import (
    HierarchyOracle,
    Induction,
    Oracle,
    TraceOracle,
    ask_until_right,
    first_error,
    induce,
    shortest,
)
from rewardmachines.learning.learner import Budget, Engine, Learner, Progress
from rewardmachines.learning.results import Asked, Certificate, Learned, Refutation, Result, TimedOut, Unsatisfiable
from rewardmachines.learning.solvers import Solvers
from rewardmachines.learning.task import ContradictoryTracesError, LearningTask, Options, learning_task

__all__ = [
    "Asked",
    "Budget",
    "Candidates",
    "Certificate",
    "ContradictoryTracesError",
    "Engine",
    "EquivalenceOracle",
    "HierarchyOracle",
    "Identified",
    "Induction",
    "Learned",
    "Learner",
    "LearningTask",
    "MembershipOracle",
    "Options",
    "Oracle",
    "Progress",
    "Refutation",
    "Result",
    "Solvers",
    "TimedOut",
    "TraceOracle",
    "Unsatisfiable",
    "ask_until_right",
    "first_error",
    "identify",
    "induce",
    "learn_by_asking",
    "learning_task",
    "shortest",
]
