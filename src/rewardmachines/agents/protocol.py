"""What an agent is to those who drive it, and the records that they exchange."""

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
"""Makes the observation of the arrays of a world and of what was remembered of a moment."""


class Task(eqx.Module):
    """What there is to do, as arrays: they may change without anything being compiled anew.

    An agent that needs more than this has a subclass of its own, such as
    `rewardmachines.agents.hierarchical_dqn.task.OptionTask`.
    """

    world: Any
    """The arrays that describe the instances of the environment."""
    tables: Tables
    """The hierarchies."""


class Step(NamedTuple):
    """A step of N environments as the agent is told of it, with the moves of the hierarchies."""

    before: Any
    """The moments in which the actions were taken, as the environment remembers them."""
    action: Int32[Array, " N"]
    after: Any
    """The moments that the actions led to, as the environment remembers them."""
    label: UInt32[Array, "N W"]
    """The labels of the moments after the actions."""
    is_event: Bool[Array, " N"]
    """Whether the label has changed."""
    from_state: State
    """Where the hierarchies stood before the step."""
    called: State
    """Where they stood within their move, when all calls had begun and none had returned."""
    to_state: State
    """Where they stand after the step."""
    is_over: Bool[Array, " N"]
    """Whether the episode is over, for whatever reason."""
    is_dead_end: Bool[Array, " N"]
    """Whether the episode has ended by itself and without reaching the goal."""
    is_valid: Bool[Array, " N"]
    """False where no step was taken: nothing is remembered there."""
    is_guided: Bool[Array, " N"] | None = None
    """Where a policy that is mastered was followed; nowhere, if not given. The Q-functions of machines learn nothing
    from such steps, because they did not choose the options; those of formulas do."""
    reward: Float[Array, " N"] | None = None
    """What the environments paid, if they pay; the task's reward is not in it."""

    def weighted_reward(self, weight: float) -> Float[Array, " N"] | None:
        """What the environments paid, weighted as the settings say; None with weight 0.

        Args:
            weight: The setting `environment_reward`.

        Raises:
            RewardMachineError: It has a weight, but the environments do not pay.
        """
        if not weight:
            return None
        if self.reward is None:
            raise RewardMachineError("environment_reward: only Gymnasium environments in a HierarchyWrapper pay")
        return weight * self.reward


class Losses(NamedTuple):
    """Mean losses of the updates after a vector step; 0 if there were none."""

    formulas: Float[Array, ""]
    """Of the Q-functions of formulas; for CRM, of its only Q-function."""
    calls: Float[Array, ""]
    """Of the Q-functions of machines; 0 for CRM."""


Ready: TypeAlias = bool | Bool[Array, ""]
"""Whether there is enough to learn from: known when a program is compiled, or when it runs."""


AnyTask = TypeVar("AnyTask", bound=Task, contravariant=True)
AnyState = TypeVar("AnyState")
AnyPlans = TypeVar("AnyPlans")


class Agent(Protocol[AnyTask, AnyState, AnyPlans]):
    """Static settings with pure functions on batches of N environments.

    It is generic in three types: the task that it needs to be given, its state, which holds what it has learned and
    remembers, and its plans, which say what it is about to do in each environment.

    The state is any tree of arrays. What is in fields called `online` is enough to act greedily, and is all that files
    of policies hold; the replay memories are `rewardmachines.agents.replay.Rings`.
    """

    @property
    def config(self) -> AgentConfig:
        """The settings."""

    @property
    def actions(self) -> int:
        """The number of actions of the environment."""

    @property
    def recall(self) -> Recall:
        """Computes an observation of the world and of what the replay memory holds."""

    def __hash__(self) -> int:
        """Equal agents have equal hashes, so that programs can be looked up by agent and are compiled once."""

    def create(self, task: AnyTask, memory: Any, chance: Chance) -> AnyState:
        """A state in which nothing is learned.

        Args:
            task: What there is to do.
            memory: Any moment as the environment remembers it: the replay memory has rows of its shapes.
            chance: For the first weights of networks.
        """

    def begin_plans(self, task: AnyTask, states: State, now: Any, key: PRNGKeyArray) -> AnyPlans:
        """The plans at the beginning of N episodes.

        Args:
            task: What there is to do.
            states: Where the hierarchies stand after the first label, which may have started calls.
            now: The first moments as the environment remembers them.
            key: For what is left to chance.
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
            task: What there is to do.
            state: What the agent has learned.
            plans: What it was about to do.
            states: Where the hierarchies stand.
            observations: What the environments show.
            now: The same as the environment remembers it.
            explores: Whether actions are left to chance as often as the settings say; otherwise they are greedy.
            key: For what is left to chance.
            guided: Environments in which a policy that is mastered is followed: it does not explore there. Nowhere,
                if not given.

        Returns:
            The actions, the state after counting what was explored, and the plans.
        """

    def observe(
        self, task: AnyTask, state: AnyState, plans: AnyPlans, step: Step, key: PRNGKeyArray
    ) -> tuple[AnyState, AnyPlans]:
        """Remembers a step, and returns the state and the plans after it."""

    def follow(self, task: AnyTask, plans: AnyPlans, step: Step, key: PRNGKeyArray) -> AnyPlans:
        """The plans after a step, which is not remembered: for policies that no longer learn."""

    def learn(self, task: AnyTask, state: AnyState, key: PRNGKeyArray, ready: Ready = True) -> tuple[AnyState, Losses]:
        """Learns from what is remembered, as much as the settings say; nothing, as long as it is not ready."""

    def exploration(self, task: AnyTask, state: AnyState) -> Float[Array, ""]:
        """The probability with which an action is left to chance, on average."""


AnyAgent: TypeAlias = Agent[Any, Any, Any]
"""An agent for those who hand its task, state and plans back to it without looking at them."""
