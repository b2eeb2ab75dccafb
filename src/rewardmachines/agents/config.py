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
    """The way Q-functions share networks.

    SEPARATE: the hierarchical agent has a network for every formula, and CRM one network with the machine's state as an
    input. SHARED: there is one body, with a head for every formula or for every state.
    """

    SEPARATE = "separate"
    SHARED = "shared"


@dataclass(frozen=True)
class EpsilonSchedule:
    """The probability of a random choice, which falls linearly from the first value to the last."""

    first: float = 1.0
    """The probability of a random choice at the beginning."""
    last: float = 0.1
    """The probability of a random choice in the end."""
    steps: int = 30_000
    """Choices after which the last probability is reached. For policies, these are steps with the policy; for machines,
    ended options, counted for each machine, state and context in which they were chosen."""


@dataclass(frozen=True)
class QConfig:
    """The settings of Q-learning, for policies and, in the hierarchical agent, for machines (`calls`)."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    """The shape of the networks."""
    learning_rate: float = 1e-3
    """The learning rate of the optimizer."""
    discount: float = 0.9
    """The present value of a reward of 1 in the next step (γ)."""
    batch: int = 128
    """Transitions in a batch; for the Q-functions of machines, options."""
    updates: float = 1
    """Gradient updates after each vector step; for the Q-functions of machines, after each ended option."""
    replay_size: int = 500_000
    """Transitions that fit into the replay memory; for the Q-functions of machines, options."""
    replay_start: int = 5_000
    """Transitions in the replay memory before learning starts; for the Q-functions of machines, options."""
    target: int | float = 500
    """The schedule of the target network. From 1: the updates between copies of the network into it, as published.
    Below 1: the weight of the network in a moving average that every update changes; such an average also acts in
    greedy episodes, since its weights are less noisy. Only policies of formulas can have one."""
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
        """The weight of the network in the moving average of the target network; 0, if the target is a copy."""
        return self.target if self.target < 1 else 0.0


@dataclass(frozen=True)
class AgentConfig(QConfig):
    """The settings of every agent. An agent with further settings has a subclass for them.

    A step is one step of one environment; a vector step is one step of every environment.
    """

    updates: int = 1
    """Gradient updates after each vector step; for the Q-functions of machines, after each ended option."""
    environments: int = 16
    """Environments in which the agent acts in parallel."""
    observation: Literal["published", "one-hot", "egocentric", "axes"] = "one-hot"
    """The observation, if the domain offers several."""
    layout: Layout = Layout.SHARED
    """The way Q-functions share networks: each has its own, or all are heads of one network."""
    optimizer: Literal["adam", "rmsprop"] = "adam"
    """The optimizer of all networks."""
    event_rewards: bool = True
    """Whether a step counts only when the label has changed: only then is a formula rewarded, and only then does the
    machine take a transition in CRM's experiences."""
    persistence: float = 0.0
    """The probability that a random action repeats the previous action. Independent random actions explore little in
    long episodes: a car that is pushed to and fro stays in its valley."""

    environment_reward: float = 0.0
    """The weight of the Gymnasium environment's own reward, which is added to the task's. Formula options and CRM
    receive it in each step, call options as a discounted sum over the steps that they take."""

    curriculum_weight: float = 0.9
    """The weight of the old value in the running return of an instance, when the instance is evaluated again."""
    chunk: int = 200
    """Vector steps in a chunk, one call of the compiled program. Between chunks, metrics are written and callbacks
    run."""
    evaluate_every: int | str = 10
    """Chunks between evaluations or, as published, episodes, such as "100 episodes": a chunk then ends early, as soon
    as that number of episodes has ended."""
    evaluate_steps: int | None = None
    """Steps after which a greedy episode of an evaluation counts as failed; if not given, the step limit of all
    episodes. An evaluation runs its episodes in parallel, so a policy that walks in circles delays it until this
    limit."""

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
        """Raises an error if one of these settings is not a whole number, or out of the range of array sizes.

        Args:
            *names: Names of settings that are whole numbers.

        Raises:
            RewardMachineError: A setting is not a whole number, less than 1, or more than `MOST`.
        """
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, int):
                raise RewardMachineError(f"{name.replace('_', ' ')}: a whole number, not {value!r}")
            if value < 1:
                raise RewardMachineError(f"{name.replace('_', ' ')}: at least 1, not {value}")
            if value > MOST:
                raise RewardMachineError(f"{name.replace('_', ' ')}: at most {MOST:,}, not {value:,}")
