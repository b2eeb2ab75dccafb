"""Settings of LHRM: those of the agents, and how machines are learned and tasks put in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Budget
from rewardmachines.learning.task import Options


class Exploration(Enum):
    """What is done where no machine says what to do.

    ACTIONS: actions at random. OPTIONS: also what is mastered already, as in the paper. PROPOSITIONS: also each
    proposition that has been seen; how to get there is learned from the first step on.
    """

    ACTIONS = "actions"
    OPTIONS = "options"
    PROPOSITIONS = "propositions"


class Callables(Enum):
    """What a machine may call. LOWER: all of lower levels. RESTRICTED: what the true one calls. NONE: it is flat."""

    LOWER = "lower"
    RESTRICTED = "restricted"
    NONE = "none"


@dataclass(frozen=True)
class LhrmConfig:
    """The paper's ablations are settings: `explores_with`, `callables`, and a single goal trace (three times 1)."""

    agent: HierarchicalDqnConfig = field(default_factory=HierarchicalDqnConfig)
    """Its `curriculum_weight` is β, and it says how often tasks are evaluated."""
    threshold: float = 0.85
    """What every return of a level must exceed before the next level begins."""
    first_goals: int = 25
    """Goal traces that are collected before the first machine of a task is learned, at the first level."""
    goals: int = 150
    """The same above it."""
    examples: int = 10
    """The shortest of them, which it is learned from."""
    explores_with: Exploration = Exploration.OPTIONS
    patience: int = 100
    """Steps, on average, until an attempt at a proposition is given up."""
    callables: Callables = Callables.LOWER
    learner_seconds: float = 600.0
    """That one search for a machine may take. A task without a machine by then is given up."""
    learner_memory: float | None = None
    """Gibibytes that one search may take; whatever it needs, if not given."""
    disjuncts: int = 1
    """κ: how many disjuncts a machine may have between two states."""
    cyclic: bool = False
    """Whether machines may return to states that they left."""
    negative: bool = False
    """Whether edges may do without a positive literal."""

    def __post_init__(self) -> None:
        if not 1 <= self.examples <= min(self.first_goals, self.goals):
            raise RewardMachineError(
                f"a first machine is learned from at least one and at most {min(self.first_goals, self.goals)} "
                f"goal traces, not {self.examples}"
            )
        if not 0 <= self.threshold < 1:
            raise RewardMachineError(f"the threshold of returns lies between 0 and 1, not {self.threshold:g}")
        if self.patience < 1:
            raise RewardMachineError(f"an attempt takes at least one step, not {self.patience}")
        if not self.learner_seconds > 0:
            raise RewardMachineError(f"the learner needs more than {self.learner_seconds:g} seconds")
        if self.learner_memory is not None and not 0 < self.learner_memory < 2**20:
            raise RewardMachineError(f"the learner cannot do with {self.learner_memory:g} GiB")
        if self.disjuncts < 1:
            raise RewardMachineError(f"there must be room for at least one disjunct, not {self.disjuncts}")

    @property
    def learner_budget(self) -> Budget:
        """What one search may cost."""
        memory = None if self.learner_memory is None else int(self.learner_memory * 2**30)
        return Budget(seconds=self.learner_seconds, memory=memory)

    @property
    def machine_space(self) -> Options:
        """The space of machines that is searched."""
        return Options(self.disjuncts, acyclic=not self.cyclic, negative_formulas=self.negative)

    def goals_wanted(self, level: int) -> int:
        """How many distinct goal traces are collected before the first machine is learned."""
        return self.first_goals if level == 1 else self.goals
