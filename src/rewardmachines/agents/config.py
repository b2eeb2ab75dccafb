"""Settings of agents."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.core.errors import RewardMachineError


class Layout(Enum):
    """SEPARATE: a network for every formula. SHARED: one body, and a head for every formula."""

    SEPARATE = "separate"
    SHARED = "shared"


class Algorithm(Enum):
    """HRL: options on the hierarchy. FLAT_HRL: options on its smallest flat form. CRM: one Q-function on that form."""

    HRL = "hrl"
    FLAT_HRL = "flat-hrl"
    CRM = "crm"


@dataclass(frozen=True)
class Config:
    """What training is like. Steps are those of one environment, unless it says vector steps: one of each."""

    environments: int = 16
    """That act side by side."""
    updates: int = 1
    """Batches learned from after each vector step."""
    batch: int = 128
    observation: Literal["published", "one-hot"] = "one-hot"

    layout: Layout = Layout.SHARED
    network: NetworkConfig = field(default_factory=NetworkConfig)
    optimizer: Literal["adam", "rmsprop"] = "adam"
    learning_rate: float = 1e-3
    discount: float = 0.9
    formulas: int = 4
    """How many Q-functions learn from a batch, if each has its own network; heads learn all at once."""
    replay_size: int = 500_000
    replay_start: int = 5_000
    target_period: int = 500
    """Updates of a Q-function between copies into its target network."""
    annealing_steps: int = 30_000
    """Executed with a formula's policy until its exploration is at its least."""
    counts_experiences: bool = False
    """CRM: whether `replay_size` and `replay_start` count an experience for each step and non-terminal state of the
    machine, as published; otherwise they count steps."""
    event_rewards: bool = True
    """Whether a formula is rewarded only when the label has changed, and whether a machine in CRM's experiences moves
    only then."""

    call_network: NetworkConfig = field(default_factory=lambda: NetworkConfig(hidden=(64,)))
    call_learning_rate: float = 5e-4
    call_discount: float = 0.99
    call_batch: int = 32
    call_updates: float = 0.25
    """For every option that is over."""
    call_replay_size: int = 10_000
    call_replay_start: int = 200
    call_target_period: int = 200
    call_annealing: int = 300
    """Options that ended, of those chosen in a machine, state and context, until exploration is at its least."""

    first_exploration: float = 1.0
    last_exploration: float = 0.1

    curriculum_weight: float = 0.9
    """What is kept of an instance's return when it is evaluated anew."""
    chunk: int = 200
    """Vector steps between two looks from outside."""
    evaluate_every: int = 10
    """Chunks between evaluations."""
    evaluate_episodes: int | None = None
    """Episodes between evaluations, as published: a chunk is cut short when so many have ended. If not given, it goes
    by chunks."""
    evaluate_steps: int | None = None
    """When a greedy episode has failed; if not given, when any episode has. A policy that walks in circles takes all
    the time there is, and everybody waits for the last one."""
    fill_together: int = 8
    """Environments for which options are chosen together."""

    def __post_init__(self) -> None:
        for name in ("environments", "updates", "batch", "replay_size", "chunk", "evaluate_every", "formulas"):
            if getattr(self, name) < 1:
                raise RewardMachineError(f"{name.replace('_', ' ')}: at least 1, not {getattr(self, name)}")
        if not 0 < self.discount < 1 or not 0 < self.call_discount <= 1:
            raise RewardMachineError("a discount lies between 0 and 1")
        if self.evaluate_episodes is not None and self.evaluate_episodes < 1:
            raise RewardMachineError(f"at least one episode lies between evaluations, not {self.evaluate_episodes}")
        if self.replay_start > self.replay_size:
            raise RewardMachineError("learning cannot start later than the replay memory is full")
