"""The state of CRM, and the records that it learns from."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int32

from rewardmachines.agents.replay import Rings, Transition


class CrmState(NamedTuple):
    """What the agent has learned and experienced."""

    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, ""]
    """Batches that it has learned from."""
    steps: Int32[Array, ""]
    """Steps that were taken while exploring."""
    replay: Rings[Transition]
    """One ring with the steps that it learns from."""


class Inputs(NamedTuple):
    """What the Q-function sees."""

    observation: Float[Array, "B ..."]
    state: Int32[Array, "*U B"]
    """The machine's state; after a step that is seen from all U states at once, one for each of them."""


class Experience(NamedTuple):
    """A step as an agent would have experienced it whose machine is in some state."""

    next_state: Int32[Array, ""]
    """The state that its machine moves to."""
    reward: Float[Array, ""]
    """1 on reaching an accepting state; and what the environment pays, if that counts."""
    is_end: Bool[Array, ""]
    """Whether nothing follows: the machine has accepted or rejected, or the environment has ended by itself."""
