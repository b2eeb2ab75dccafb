"""The interface between agents and drivers, and the records that they exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.networks import Chance
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lowered import State, Tables

Recall = Callable[[Any, Any], Float[Array, "..."]]
"""Computes an observation from the arrays of a world and a stored moment."""


class Task(eqx.Module):
    """The task as arrays, which may change without a new compilation.

    An agent that needs more than this has a subclass of its own, such as
    `rewardmachines.agents.hierarchical_dqn.task.OptionTask`.
    """

    world: Any
    """The arrays that describe the instances of the environment."""
    tables: Tables
    """The hierarchies."""


class Step(NamedTuple):
    """A step of N environments as an agent observes it, with the transitions of the hierarchies."""

    before: Any
    """The moments in which the actions were taken, as the replay memory stores them."""
    action: Int32[Array, " N"]
    after: Any
    """The moments that the actions led to, as the replay memory stores them."""
    label: UInt32[Array, "N W"]
    """The labels of the moments after the actions."""
    is_event: Bool[Array, " N"]
    """Whether the label has changed."""
    from_state: State
    """The states of the hierarchies before the step."""
    called: State
    """The states of the hierarchies within their move, when all calls have begun and none has returned."""
    to_state: State
    """The states of the hierarchies after the step."""
    is_over: Bool[Array, " N"]
    """Whether the episode is over, for whatever reason."""
    is_dead_end: Bool[Array, " N"]
    """Whether the episode has ended by itself and without reaching the goal."""
    is_valid: Bool[Array, " N"]
    """False in environments without a step: nothing is stored for them."""
    is_guided: Bool[Array, " N"] | None = None
    """The environments in which a mastered policy was followed; none, if not given. The Q-functions of machines learn
    nothing from such steps, because they did not choose the options; those of formulas do."""
    reward: Float[Array, " N"] | None = None
    """The environments' own rewards, if they have any, without the task's reward."""

    def weighted_reward(self, weight: float) -> Float[Array, " N"] | None:
        """The environments' own rewards, weighted; None with weight 0.

        Args:
            weight: The setting `environment_reward`.

        Raises:
            RewardMachineError: The weight is not 0, but the environments have no rewards of their own.
        """
        if not weight:
            return None
        if self.reward is None:
            raise RewardMachineError("environment_reward: only Gymnasium environments in a HierarchyWrapper pay")
        return weight * self.reward


class Losses(NamedTuple):
    """Mean losses of the updates after a vector step; 0 if there were none."""

    formulas: Float[Array, ""]
    """The loss of the Q-functions of formulas; for CRM, of its only Q-function."""
    calls: Float[Array, ""]
    """The loss of the Q-functions of machines; 0 for CRM."""


Ready: TypeAlias = bool | Bool[Array, ""]
"""Whether the replay memory is full enough to learn: known when a program is compiled, or when it runs."""


AnyTask = TypeVar("AnyTask", bound=Task, contravariant=True)
AnyState = TypeVar("AnyState")
AnyPlans = TypeVar("AnyPlans")


class Agent(Protocol[AnyTask, AnyState, AnyPlans]):
    """An agent: static settings with pure functions on batches of N environments.

    It is generic in three types: the task, the agent's state, which holds networks and replay memories, and its plans,
    such as the running options of each environment.

    The state is any tree of arrays. Its fields called `online` are enough to act greedily, and files of policies hold
    nothing else; the replay memories are `rewardmachines.agents.replay.Rings`.
    """

    @property
    def config(self) -> AgentConfig:
        """The settings."""

    @property
    def actions(self) -> int:
        """The number of actions of the environment."""

    @property
    def recall(self) -> Recall:
        """Computes an observation from the arrays of the world and a stored moment."""

    def __hash__(self) -> int:
        """Equal agents have equal hashes, so that programs can be looked up by agent and are compiled once."""

    def create(self, task: AnyTask, memory: Any, chance: Chance) -> AnyState:
        """The initial state, in which nothing is learned.

        Args:
            task: The task.
            memory: Any moment as it is stored: the replay memory has rows of its shapes.
            chance: The random generator of initial weights.
        """

    def begin_plans(self, task: AnyTask, states: State, now: Any, key: PRNGKeyArray) -> AnyPlans:
        """The plans at the beginning of N episodes.

        Args:
            task: The task.
            states: The states of the hierarchies after the first label, which may have started calls.
            now: The first moments, as they are stored.
            key: The random key.
        """

    def act(
        self,
        task: AnyTask,
        state: AnyState,
        plans: AnyPlans,
        states: State,
        observations: Float[Array, "N ..."],
        now: Any,
        explores: bool,
        key: PRNGKeyArray,
        guided: Bool[Array, " N"] | None = None,
    ) -> tuple[Int32[Array, " N"], AnyState, AnyPlans]:
        """Chooses an action for each environment.

        Args:
            task: The task.
            state: The agent's state.
            plans: The agent's plans.
            states: The states of the hierarchies.
            observations: The observations.
            now: The same moments, as they are stored.
            explores: Whether actions are random as often as the settings say; otherwise they are greedy.
            key: The random key.
            guided: Environments in which a mastered policy is followed without exploration; none, if not given.

        Returns:
            The actions, the state with the exploration counted, and the plans.
        """

    def observe(
        self, task: AnyTask, state: AnyState, plans: AnyPlans, step: Step, key: PRNGKeyArray
    ) -> tuple[AnyState, AnyPlans]:
        """Stores a step, and returns the state and the plans after it."""

    def follow(self, task: AnyTask, plans: AnyPlans, step: Step, key: PRNGKeyArray) -> AnyPlans:
        """The plans after a step that is not stored: for policies that no longer learn."""

    def learn(self, task: AnyTask, state: AnyState, key: PRNGKeyArray, ready: Ready = True) -> tuple[AnyState, Losses]:
        """Learns from the replay memories with the number of updates in the settings; does nothing while not ready."""

    def exploration(self, task: AnyTask, state: AnyState) -> Float[Array, ""]:
        """The mean probability of a random action."""


AnyAgent: TypeAlias = Agent[Any, Any, Any]
"""An agent in code that passes its task, state and plans on without reading them."""
