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
    """The settings of the agent. Its `curriculum_weight` is β, and it says how often tasks are evaluated."""
    threshold: float = 0.85
    """What every running return of a level must exceed before the next level begins."""
    goals: tuple[int, ...] = (25, 150)
    """Goal traces that are collected before the first machine of a task is learned: for tasks of the first level, of
    the second, and so on; the last number is that of all higher levels."""
    examples: int = 10
    """How many of the collected goal traces, the shortest ones, the first machine is learned from."""
    explores_with: Exploration = Exploration.OPTIONS
    """How the agent explores where no machine says what to do."""
    detour_rate: float = 0.0
    """The probability, at every step, of a detour: for a while, the agent leaves what the machine of the task suggests
    for a random walk or an exploration option. So it comes to where the machine may be wrong."""
    confirm_episodes: int = 0
    """The episodes of a task, since its machine was learned, after which the machine counts as confirmed: none of them
    has refuted it. A run goes on until the machines of all tasks are; 0 asks for none."""
    callables: Callables = Callables.LOWER
    """Which machines a machine may call."""
    learner_seconds: float = 600.0
    """Seconds that one search for a machine may take. A task without a machine by then is given up."""
    run_learner_seconds: float | None = None
    """How long all searches of a run may take together; then the run ends. Whatever they need, if not given."""
    learner_memory: float | None = None
    """Gibibytes of memory that one search may take; without a limit, if not given."""
    disjuncts: int = 1
    """κ: how many disjuncts a machine may have between two states."""
    cyclic: bool = False
    """Whether machines may return to states that they left."""
    prefixes: bool = True
    """Whether machines are learned with the knowledge that no proper prefix of a trace was accepted or rejected: the
    episode would have ended there. The paper's learner does without it."""
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
        """What one search for a machine may cost."""
        memory = None if self.learner_memory is None else int(self.learner_memory * 2**30)
        return Budget(seconds=self.learner_seconds, memory=memory)

    @property
    def machine_space(self) -> Options:
        """The space of machines that is searched."""
        return Options(
            self.disjuncts,
            acyclic=not self.cyclic,
            negative_formulas=self.negative,
            prefix_knowledge=self.prefixes,
        )

    def goals_wanted(self, level: int) -> int:
        """How many distinct goal traces are collected before the first machine is learned."""
        return self.goals[min(level, len(self.goals)) - 1]
