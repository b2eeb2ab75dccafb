"""The settings that every agent has."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import isfinite
from typing import Final, Literal

from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.core.errors import RewardMachineError

MOST: Final = 2**31 - 1
"""The largest size of an array that compiled programs can index."""


class Layout(Enum):
    """How Q-functions share networks.

    SEPARATE: the hierarchical agent has a network for every formula, and CRM one network with the machine's state as an
    input. SHARED: there is one body, with a head for every formula or for every state.
    """

    SEPARATE = "separate"
    SHARED = "shared"


@dataclass(frozen=True)
class AgentConfig:
    """How an agent of any kind is trained. Each agent adds the settings that only it has in a subclass of its own.

    A step is one step of one environment; a vector step is one step of every environment.
    """

    environments: int = 16
    """Environments that act side by side."""
    updates: int = 1
    """Batches learned from after each vector step."""
    batch: int = 128
    """Transitions in a batch."""
    observation: Literal["published", "one-hot", "egocentric"] = "one-hot"
    """What the agent sees, if the domain leaves a choice."""

    layout: Layout = Layout.SHARED
    """How Q-functions share networks: each has its own, or all share one body."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """The shape of the networks."""
    optimizer: Literal["adam", "rmsprop"] = "adam"
    """What changes the weights of networks."""
    learning_rate: float = 1e-3
    """The learning rate of the optimizer."""
    discount: float = 0.9
    """What a reward of the next step is worth now."""
    replay_size: int = 500_000
    """Transitions that the replay memory holds."""
    replay_start: int = 5_000
    """Transitions that the replay memory needs before learning starts."""
    target_period: int = 500
    """Updates of a Q-function between copies into its target network."""
    annealing_steps: int = 30_000
    """Steps with a policy until its exploration is at its least."""
    event_rewards: bool = True
    """Whether a step counts only when the label has changed: whether a formula is rewarded only then, and whether a
    machine in CRM's experiences moves only then."""

    first_exploration: float = 1.0
    """The probability, in the beginning, with which a choice is left to chance."""
    last_exploration: float = 0.1
    """The same in the end, after `annealing_steps`."""
    persistence: float = 0.0
    """The probability with which an action that is left to chance repeats the one before. Independent actions go
    nowhere in long episodes: a car that is pushed to and fro stays in its valley."""

    environment_reward: float = 0.0
    """The weight of the reward that a Gymnasium environment pays itself, beside the task's. Formula options and CRM get
    it with each step, and options that call machines its discounted sum over the steps that they take."""

    curriculum_weight: float = 0.9
    """The weight of an instance's running return when the instance is evaluated again."""
    chunk: int = 200
    """Vector steps in one call of the compiled program; between chunks, metrics are written and callbacks called."""
    evaluate_every: int = 10
    """Chunks between evaluations."""
    evaluate_episodes: int | None = None
    """Episodes between evaluations, as published: a chunk is cut short when so many have ended. If not given,
    `evaluate_every` applies."""
    evaluate_steps: int | None = None
    """Steps after which a greedy episode has failed; if not given, the limit of all episodes. Episodes of an evaluation
    run side by side, so a policy that walks in circles keeps all the others waiting until its limit."""

    def __post_init__(self) -> None:
        self.check_counts("environments", "updates", "batch", "replay_size", "chunk", "evaluate_every")
        if not 0 < self.discount <= 1:
            raise RewardMachineError("a discount lies between 0 and 1")
        if not 0 <= self.persistence < 1:
            raise RewardMachineError(f"persistence: at least 0 and less than 1, not {self.persistence:g}")
        if not isfinite(self.environment_reward):
            raise RewardMachineError(f"the weight of the environment's reward is finite, not {self.environment_reward}")
        if self.evaluate_episodes is not None and self.evaluate_episodes < 1:
            raise RewardMachineError(f"at least one episode lies between evaluations, not {self.evaluate_episodes}")
        if self.replay_start > self.replay_size:
            raise RewardMachineError("learning cannot start later than the replay memory is full")

    def check_counts(self, *names: str) -> None:
        """Raises an error if one of these settings is no whole number, less than 1, or no size of an array.

        Args:
            *names: Names of settings that are whole numbers.

        Raises:
            RewardMachineError: One of them is none, less than 1, or more than `MOST`.
        """
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, int):
                raise RewardMachineError(f"{name.replace('_', ' ')}: a whole number, not {value!r}")
            if value < 1:
                raise RewardMachineError(f"{name.replace('_', ' ')}: at least 1, not {value}")
            if value > MOST:
                raise RewardMachineError(f"{name.replace('_', ' ')}: at most {MOST:,}, not {value:,}")
