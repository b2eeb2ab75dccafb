"""The settings of the hierarchical agent: those of every agent, and those of the Q-functions of machines."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from rewardmachines.agents.config import AgentConfig, EpsilonSchedule, QConfig
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.core.errors import RewardMachineError

_ROUNDS: Final = 16
"""About how many rounds it may take to choose options for all episodes of a large evaluation."""


@dataclass(frozen=True)
class CallConfig(QConfig):
    """How the Q-functions of machines learn, which choose options that call other machines."""

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
    """The common settings are those of the Q-functions of formulas; those of machines are the record `calls`."""

    formulas: int = 4
    """Q-functions that learn from a batch if each has its own network; heads of one network learn all at once."""
    calls: CallConfig = field(default_factory=CallConfig)
    """The same settings for the Q-functions of machines."""
    fill_together: int = 8
    """Environments for which options are chosen together."""

    fill_machines: bool = False
    """Whether options of different machines are chosen together. The networks of all machines are evaluated then, of
    which each environment needs one: more to compute, but fewer rounds, for which a GPU waits."""
    step_cost: float = 0.0
    """What a step costs a formula's Q-function, as long as the formula is not satisfied. Values fall by so much with
    every step away from the goal, down to 0, so that a step makes as much of a difference far away as nearby; the
    discount may be 1 then. With 0, there is only the discount, as published."""
    halving_updates: int = 0
    """Updates of the Q-functions of formulas after which their learning rate has fallen to a half; after n times as
    many, to 1 / (1 + n). With 0, it stays as it is."""

    lookahead: float = 0.0
    """How much an option counts what can follow where it ends. With 0, reaching its formula is worth 1 everywhere, as
    published. With 1, it is worth what the machine that goes on expects from there, by its Q-function; between them, a
    mixture. It needs a hierarchy that is given: while machines are being learned, what follows is not known."""

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
    """The settings for greedy episodes of full length, so many of them side by side.

    All of thousands of episodes begin at once and need options. Were these chosen for a few at a time, there would be
    hundreds of rounds, each of which looks at all episodes.
    """
    return replace(config, evaluate_steps=None, fill_together=max(config.fill_together, episodes // _ROUNDS))
