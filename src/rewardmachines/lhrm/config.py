"""Settings of LHRM: those of the agent, of the curriculum, of exploration, and of learning machines."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Budget
from rewardmachines.learning.task import Options
from rewardmachines.lhrm.choices import Callables as Callables
from rewardmachines.lhrm.choices import Exploration as Exploration


@dataclass(frozen=True)
class LhrmConfig:
    """All settings of LHRM.

    The paper's ablations are among them: `explores_with`, `callables`, and a first machine from a single goal trace,
    which is `goals` and `examples` of 1.
    """

    agent: HierarchicalDqnConfig = field(default_factory=HierarchicalDqnConfig)
    """The settings of the agent. Its `curriculum_weight` is β, and its `evaluate_every` is the time between
    evaluations."""
    threshold: float = 0.85
    """The threshold that every running return of a level must exceed before the next level begins."""
    goals: tuple[int, ...] = (25, 150)
    """Goal traces that are collected before the first machine of a task is learned: for tasks of the first level, of
    the second, and so on; the last number holds for all higher levels."""
    examples: int = 10
    """The number of the shortest collected goal traces from which the first machine is learned."""
    explores_with: Exploration = Exploration.OPTIONS
    """The strategy for exploration where no machine has an option."""
    detour_rate: float = 0.0
    """The probability, at every step, of a detour: for a while, the agent follows a random walk or an exploration
    option instead of the options of the task's machine. Detours lead to traces on which the machine may be wrong."""
    confirm_episodes: int = 0
    """The episodes of a task without a counterexample, since its machine was learned, after which the machine counts as
    confirmed. A run goes on until the machines of all tasks are confirmed; 0 requires no confirmation."""
    tests: int = 0
    """The tries of each pair of a state of a task's machine and a label, after which the machine counts as confirmed:
    labels are then pursued where they were tried least. 0 for no tests."""
    noise: float = 0.0
    """The share of traces that may be wrong, in their labels or their outcome. Counterexamples then refute a machine
    together, and not one by one. 0 if every trace is right."""
    callables: Callables = Callables.LOWER
    """The machines that a machine may call."""
    learner_seconds: float = 600.0
    """The time limit of a search for a machine, in seconds. A task whose search exceeds it is given up."""
    run_learner_seconds: float | None = None
    """The time limit of all searches of a run together, in seconds, after which the run ends; unlimited, if not
    given."""
    learner_memory: float | None = None
    """The memory limit of a search, in gibibytes; unlimited, if not given."""
    disjuncts: int = 1
    """κ: the largest number of disjuncts between two states of a machine."""
    cyclic: bool = False
    """Whether machines may have cycles."""
    prefixes: bool = True
    """Whether the learner uses that no proper prefix of a trace was accepted or rejected, as the episode would have
    ended there. The paper's learner does not use it."""
    negative: bool = False
    """Whether edges may have formulas without a positive literal."""

    def __post_init__(self) -> None:
        if self.agent.lookahead:
            raise RewardMachineError("options look ahead only in a hierarchy that is given: leave agent.lookahead at 0")
        if not 1 <= self.examples <= min(self.goals, default=0):
            raise RewardMachineError(
                f"a first machine is learned from at least one and at most {min(self.goals, default=0)} "
                f"goal traces, not {self.examples}"
            )
        if not 0 <= self.threshold < 1:
            raise RewardMachineError(f"the threshold of returns lies between 0 and 1, not {self.threshold:g}")
        if not 0 <= self.detour_rate < 1:
            raise RewardMachineError(f"the probability of a detour lies between 0 and 1, not {self.detour_rate:g}")
        if self.confirm_episodes < 0:
            raise RewardMachineError(f"a machine is confirmed after a number of episodes, not {self.confirm_episodes}")
        if self.tests < 0:
            raise RewardMachineError(f"a machine is tested a number of times on each pair, not {self.tests} times")
        if not 0 <= self.noise < 0.5:
            raise RewardMachineError(f"the share of wrong traces is at least 0 and below 0.5, not {self.noise:g}")
        self._check_learner()

    def _check_learner(self) -> None:
        if not self.learner_seconds > 0:
            raise RewardMachineError(f"the learner needs more than {self.learner_seconds:g} seconds")
        if self.run_learner_seconds is not None and not self.run_learner_seconds > 0:
            raise RewardMachineError(f"the learner needs more than {self.run_learner_seconds:g} seconds for a run")
        if self.learner_memory is not None and not 0 < self.learner_memory < 2**20:
            raise RewardMachineError(f"the learner cannot do with {self.learner_memory:g} GiB")
        if self.disjuncts < 1:
            raise RewardMachineError(f"there must be room for at least one disjunct, not {self.disjuncts}")

    @property
    def learner_budget(self) -> Budget:
        """The budget of a search for a machine."""
        memory = None if self.learner_memory is None else int(self.learner_memory * 2**30)
        return Budget(seconds=self.learner_seconds, memory=memory)

    @property
    def machine_space(self) -> Options:
        """The hypothesis space of machines."""
        return Options(
            self.disjuncts,
            acyclic=not self.cyclic,
            negative_formulas=self.negative,
            prefix_knowledge=self.prefixes,
        )

    def goals_wanted(self, level: int) -> int:
        """The number of distinct goal traces that are collected before the first machine is learned."""
        return self.goals[min(level, len(self.goals)) - 1]
