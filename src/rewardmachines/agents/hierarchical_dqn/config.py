"""The settings of the hierarchical agent: those of every agent, and those of the Q-functions of machines."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from rewardmachines.agents.config import AgentConfig, EpsilonSchedule, QConfig
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.core.errors import RewardMachineError

_ROUNDS: Final = 16
"""The approximate number of rounds in which options are chosen for all episodes of a large evaluation."""


@dataclass(frozen=True)
class CallConfig(QConfig):
    """The settings for the Q-functions of machines, which choose options, such as calls of other machines."""

    network: NetworkConfig = field(default_factory=lambda: NetworkConfig(hidden=(64,)))
    learning_rate: float = 5e-4
    discount: float = 0.99
    batch: int = 32
    updates: float = 0.25
    replay_size: int = 10_000
    replay_start: int = 200
    target: int | float = 200
    exploration: EpsilonSchedule = field(default_factory=lambda: EpsilonSchedule(steps=300))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target < 1:
            raise RewardMachineError(f"calls.target: a number of updates, not {self.target:g}")


@dataclass(frozen=True)
class HierarchicalDqnConfig(AgentConfig):
    """The settings of the hierarchical agent: the common ones are for formulas, those in `calls` for machines."""

    formulas: int = 4
    """Q-functions that learn from each batch if each has its own network; the heads of a shared network all learn at
    once."""
    calls: CallConfig = field(default_factory=CallConfig)
    """The same settings for the Q-functions of machines."""
    fill_together: int = 8
    """Environments for which options are chosen together, in one batch."""

    fill_machines: bool = False
    """Whether options of different machines are chosen together. The networks of all machines are then evaluated for
    every environment, which needs only one of them: this takes more computation, but fewer sequential rounds, which is
    faster on a GPU."""
    step_cost: float = 0.0
    """The cost of a step in a formula's Q-function, as long as the formula is not satisfied. Values fall by this amount
    with every step away from the goal, down to 0, so that a step makes an equal difference far away and nearby; the
    discount may then be 1. With 0, only the discount counts, as published."""
    halving_updates: int = 0
    """Updates of a formula's Q-function after which its learning rate has fallen to a half; after n times this number,
    it has fallen to 1 / (1 + n). With 0, the learning rate is constant."""

    lookahead: float = 0.0
    """The weight of the value that can follow where an option ends. With 0, satisfying its formula is worth 1
    everywhere, as published. With 1, it is worth the value of the best next option, by the Q-function of the machine
    that goes on; in between, a mixture of both. Lookahead needs a given hierarchy: while machines are being learned,
    the continuation is not known."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_counts("formulas")
        if not 0 <= self.lookahead <= 1:
            raise RewardMachineError(f"looking ahead: between 0 and 1, not {self.lookahead:g}")
        if not 0 <= self.step_cost < 1:
            raise RewardMachineError(f"step cost: at least 0 and less than 1, not {self.step_cost:g}")
        if self.step_cost and self.environment_reward:
            raise RewardMachineError("step cost: only without rewards of the environment (environment_reward=0)")
        if self.halving_updates:
            self.check_counts("halving_updates")
        # Without a discount or a cost, a formula's Q-function would not prefer the shorter way.
        if self.discount == 1 and not self.step_cost:
            raise RewardMachineError("a discount lies between 0 and 1; it may be 1 if steps cost something (step_cost)")


def for_evaluation(config: HierarchicalDqnConfig, episodes: int) -> HierarchicalDqnConfig:
    """The settings for `episodes` parallel greedy episodes of full length.

    Thousands of episodes begin at once and need options. Choosing these for a few episodes at a time would take
    hundreds of rounds, each over all episodes.
    """
    return replace(config, evaluate_steps=None, fill_together=max(config.fill_together, episodes // _ROUNDS))
