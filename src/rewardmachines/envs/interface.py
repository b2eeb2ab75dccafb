"""The interface of environments: pure functions on a compact state.

Written for one environment; a batch is a `vmap`. An environment object holds static settings only (sizes, which
observation); everything that varies is in the *world*, arrays that describe all instances and travel as an argument, or
in the state. A state says which instance it belongs to, so a batch may mix them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from jaxtyping import Array, Float, Int32, UInt32

from rewardmachines.lowered.formula import LabelBits

World = TypeVar("World")
State = TypeVar("State")
Memory = TypeVar("Memory")


class Environment(ABC, Generic[World, State, Memory]):
    """A labelled Markov decision process without a task: nothing in it ends or is rewarded.

    Deterministic: all randomness is in the choice of instances and actions. Environments with equal settings should be
    equal, as frozen dataclasses are: compiled programs are looked up by environment, and equal ones share theirs.
    """

    @property
    @abstractmethod
    def propositions(self) -> tuple[str, ...]:
        """The propositions, in the order of the bits of a label."""

    @property
    def bits(self) -> LabelBits:
        """The bit of each proposition in a label."""
        return LabelBits(self.propositions)

    @property
    @abstractmethod
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions, by number."""

    @property
    def actions(self) -> int:
        """The number of actions."""
        return len(self.action_names)

    @property
    @abstractmethod
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one observation."""

    @property
    @abstractmethod
    def observation_bounds(self) -> tuple[float, float]:
        """The bounds of every number of an observation."""

    @abstractmethod
    def reset(self, world: World, instance: Int32[Array, ""] | int) -> State:
        """The state in which episodes of the instance begin."""

    @abstractmethod
    def step(self, world: World, state: State, action: Int32[Array, ""] | int) -> State:
        """The state that an action leads to."""

    @abstractmethod
    def label(self, world: World, state: State) -> UInt32[Array, " W"]:
        """The propositions that are true in a state, as bits."""

    @abstractmethod
    def observe(self, world: World, state: State) -> Float[Array, ...]:
        """The agent's observation of a state."""

    @abstractmethod
    def remember(self, state: State) -> Memory:
        """The state in as few bytes as it takes to `recall` its observation: what a replay buffer stores."""

    @abstractmethod
    def recall(self, world: World, memory: Memory) -> Float[Array, ...]:
        """The observation of the state that was remembered."""


AnyEnvironment = Environment[Any, Any, Any]


@dataclass(frozen=True)
class RecallOf:
    """The method `recall` of an environment, as a function that is equal for equal environments.

    Bound methods are equal only if they belong to the same object; as jit's static arguments they would compile twice.
    """

    environment: AnyEnvironment

    def __call__(self, world: Any, memory: Any) -> Float[Array, ...]:
        return self.environment.recall(world, memory)
