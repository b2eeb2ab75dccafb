"""The settings that every agent has."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite
from typing import Final, Literal

from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.core.errors import RewardMachineError

MOST: Final = 2**31 - 1
"""The largest size of an array that compiled programs can index."""
_INTERVAL: Final = re.compile(r"[1-9]\d{0,9}( episodes)?")


class Layout(Enum):
    """How Q-functions share networks.

    SEPARATE: the hierarchical agent has a network for every formula, and CRM one network with the machine's state as an
    input. SHARED: there is one body, with a head for every formula or for every state.
    """

    SEPARATE = "separate"
    SHARED = "shared"


@dataclass(frozen=True)
class EpsilonSchedule:
    """The probability of a random choice, which falls linearly from the first value to the last."""

    first: float = 1.0
    """The probability of a random choice in the beginning."""
    last: float = 0.1
    """The same in the end."""
    steps: int = 30_000
    """Choices until the last probability is reached: steps with a policy or, of machines, options that ended, of those
    chosen in a machine, state and context."""


@dataclass(frozen=True)
class QConfig:
    """How a Q-function learns. Policies have such settings and, in the hierarchical agent, machines (`calls`)."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    """The shape of the networks."""
    learning_rate: float = 1e-3
    """The learning rate of the optimizer."""
    discount: float = 0.9
    """What a reward of the next step is worth now."""
    batch: int = 128
    """Transitions in a batch; of machines, options."""
    updates: float = 1
    """Batches learned from after each vector step; of machines, after each option that has ended."""
    replay_size: int = 500_000
    """Transitions that the replay memory holds; of machines, options."""
    replay_start: int = 5_000
    """Transitions that the replay memory needs before learning starts; of machines, options."""
    target: int | float = 500
    """How the target network follows. From 1: the updates between copies into it, as published. Below 1: how much of
    the network goes into it with each update; such a moving average also acts in greedy episodes, since its weights are
    less noisy. Only policies of formulas can have one."""
    exploration: EpsilonSchedule = field(default_factory=EpsilonSchedule)
    """The probability of random choices."""

    def __post_init__(self) -> None:
        if not 0 < self.discount <= 1:
            raise RewardMachineError("a discount lies between 0 and 1")
        if not (0 < self.target < 1 or (self.target >= 1 and self.target % 1 == 0)):
            raise RewardMachineError(f"target: a number of updates, or a rate between 0 and 1, not {self.target:g}")

    @property
    def target_period(self) -> int:
        """The updates between copies into the target network; 1, if it is a moving average."""
        return max(1, int(self.target))

    @property
    def target_rate(self) -> float:
        """How much of the network goes into the target network with each update; 0, if it is a copy."""
        return self.target if self.target < 1 else 0.0


@dataclass(frozen=True)
class AgentConfig(QConfig):
    """How an agent of any kind is trained. Each agent adds the settings that only it has in a subclass of its own.

    A step is one step of one environment; a vector step is one step of every environment.
    """

    updates: int = 1
    """Batches learned from after each vector step; of machines, after each option that has ended."""
    environments: int = 16
    """Environments that act side by side."""
    observation: Literal["published", "one-hot", "egocentric"] = "one-hot"
    """What the agent sees, if the domain leaves a choice."""
    layout: Layout = Layout.SHARED
    """How Q-functions share networks: each has its own, or all share one body."""
    optimizer: Literal["adam", "rmsprop"] = "adam"
    """What changes the weights of networks."""
    event_rewards: bool = True
    """Whether a step counts only when the label has changed: whether a formula is rewarded only then, and whether a
    machine in CRM's experiences moves only then."""
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
    evaluate_every: int | str = 10
    """Chunks between evaluations or, as published, episodes, such as "100 episodes": a chunk is cut short when so many
    have ended."""
    evaluate_steps: int | None = None
    """Steps after which a greedy episode has failed; if not given, the limit of all episodes. Episodes of an evaluation
    run side by side, so a policy that walks in circles keeps all the others waiting until its limit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_counts("environments", "updates", "batch", "replay_size", "chunk")
        if not 0 <= self.persistence < 1:
            raise RewardMachineError(f"persistence: at least 0 and less than 1, not {self.persistence:g}")
        if not isfinite(self.environment_reward):
            raise RewardMachineError(f"the weight of the environment's reward is finite, not {self.environment_reward}")
        if not _INTERVAL.fullmatch(str(self.evaluate_every)):
            raise RewardMachineError(
                f'evaluate every: a number of chunks, or such as "100 episodes", not {self.evaluate_every}'
            )
        if self.replay_start > self.replay_size:
            raise RewardMachineError("learning cannot start later than the replay memory is full")

    @property
    def chunks_between_evaluations(self) -> int | None:
        """Chunks between evaluations; None if these come after a number of episodes."""
        return self.evaluate_every if isinstance(self.evaluate_every, int) else None

    @property
    def episodes_between_evaluations(self) -> int | None:
        """Episodes between evaluations; None if these come after a number of chunks."""
        return None if isinstance(self.evaluate_every, int) else int(self.evaluate_every.split()[0])

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
