"""What an agent is to those who drive it, and what they tell each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.options.tables import OptionTables
from rewardmachines.lowered import State, Tables

Recall = Callable[[Any, Any], Float[Array, "..."]]
"""A world and what was remembered to the observation."""


class Task(NamedTuple):
    """What there is to do, as arrays: they may change without anything being compiled anew."""

    world: Any
    tables: Tables
    options: OptionTables


class Step(NamedTuple):
    """What came of the actions, as the hierarchy saw it."""

    before: Any
    """Remembered; `after` likewise."""
    action: Int32[Array, " N"]
    after: Any
    label: UInt32[Array, "N W"]
    is_event: Bool[Array, " N"]
    from_state: State
    called: State
    to_state: State
    is_over: Bool[Array, " N"]
    """Whether the episode is, for whatever reason."""
    is_dead_end: Bool[Array, " N"]
    is_valid: Bool[Array, " N"]
    """False where nothing happened that could be learned from."""
    is_guided: Bool[Array, " N"] | None = None
    """Where a policy that is mastered was followed: machines learn nothing of it, formulas do."""


class Losses(NamedTuple):
    formulas: Float[Array, ""]
    calls: Float[Array, ""]


Ready: TypeAlias = bool | Bool[Array, ""]
Learned = TypeVar("Learned")


def if_ready(
    ready: Ready, learn: Callable[[Learned], tuple[Learned, Losses]], before: Learned
) -> tuple[Learned, Losses]:
    """What is learned from what there was before, or just that. One program does for both: people wait for compilers.

    A loop that is run once or not at all changes its arrays in place, where the branches of a `cond` would copy them.
    """
    if ready is True:
        return learn(before)
    nothing = Losses(jnp.float32(0), jnp.float32(0))
    learned: tuple[Learned, Losses] = jax.lax.fori_loop(
        0, jnp.asarray(ready, jnp.int32), lambda _, so_far: learn(so_far[0]), (before, nothing)
    )
    return learned


class Agent(Protocol):
    """Static settings with pure functions on batches of N environments.

    What an agent has learned is in its state, what it is about to do in each environment in its plans.
    """

    @property
    def config(self) -> AgentConfig: ...

    def create(self, task: Task, memory: Any, chance: Chance) -> Any:
        """A state that knows nothing yet. `memory` is any moment as the environment remembers it."""

    def begin_plans(self, task: Task, states: State, now: Any, key: PRNGKeyArray) -> Any:
        """What it is about to do at the beginning of N episodes.

        Args:
            task: What there is to do.
            states: Where the hierarchies stand after the first label, which may have started calls.
            now: The first moments as the environment remembers them.
            key: For what is left to chance.
        """

    def act(
        self,
        task: Task,
        state: Any,
        plans: Any,
        states: State,
        observations: Float[Array, "N ..."],
        now: Any,
        explores: bool,
        key: PRNGKeyArray,
    ) -> tuple[Int32[Array, " N"], Any, Any]:
        """Actions, the state that counted what was explored, and plans."""

    def observe(self, task: Task, state: Any, plans: Any, step: Step, key: PRNGKeyArray) -> tuple[Any, Any]:
        """Remembers a step; state and plans after it."""

    def follow(self, task: Task, plans: Any, step: Step, key: PRNGKeyArray) -> Any:
        """Only what a step does to the plans: for policies that no longer learn."""

    def learn(self, task: Task, state: Any, key: PRNGKeyArray, ready: Ready = True) -> tuple[Any, Losses]:
        """From what is remembered, as much as the settings say; nothing, as long as it is not ready."""

    def exploration(self, task: Task, state: Any) -> Float[Array, ""]:
        """How often actions are left to chance, on average."""
