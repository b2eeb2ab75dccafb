"""The state of CRM, and the records that it learns from."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int32

from rewardmachines.agents.replay import Rings, Transition


class CrmState(NamedTuple):
    """The networks, counters and replay memory of the agent."""

    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, ""]
    """Batches that the agent has learned from."""
    steps: Int32[Array, ""]
    """Steps that were taken while exploring."""
    replay: Rings[Transition]
    """One ring with the steps that it learns from."""


class Inputs(NamedTuple):
    """The inputs of the Q-function."""

    observation: Float[Array, "B ..."]
    state: Int32[Array, "*U B"]
    """The machine's state; after a step that is considered in all U states at once, one next state for each."""


class Experience(NamedTuple):
    """A step as it would have been experienced in a given state of the machine."""

    next_state: Int32[Array, ""]
    """The state that its machine moves to."""
    reward: Float[Array, ""]
    """1 on reaching an accepting state, plus the environment's own reward, if it has a weight."""
    is_end: Bool[Array, ""]
    """Whether the episode ends: the machine has accepted or rejected, or the environment has terminated."""
