"""Where tasks are learned: what is known of the worlds of tasks, and who drives environments there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from jaxtyping import Array, Int32, PRNGKeyArray

from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import Losses
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.crew import Crew, Knowledge
from rewardmachines.lhrm.machine_pool import TaskSpec


class Counts(NamedTuple):
    """What was counted in a chunk, for each of T tasks."""

    episodes: Int32[Array, " T"]
    """Episodes that the environment ended. One that was only cut short by a counterexample is not among them."""
    goals: Int32[Array, " T"]
    """Those of them that reached the goal."""
    steps: Int32[Array, ""]
    """Steps of all tasks together. An environment that waits for its trace to be taken makes none."""
    losses: Losses
    """The means over the chunk."""


class RunState(NamedTuple):
    """Everything that changes while the agent acts and learns, as arrays of the device."""

    agent: AgentState
    crew: Crew
    environments: Any
    """What only the environments know; empty if they are not arrays, as those of Gymnasium."""
    unlearned: Int32[Array, ""]
    """Steps since the last round of learning. The next round comes when there was one for every environment."""
    key: PRNGKeyArray


class TaskWorlds(Protocol):
    """What LHRM must know of tasks and of the environments that they are learned in."""

    @property
    def tasks(self) -> tuple[TaskSpec, ...]:
        """The tasks, lowest level first."""

    @property
    def propositions(self) -> tuple[str, ...]:
        """What labels are made of."""

    @property
    def instances(self) -> int:
        """How many instances every task is evaluated in."""

    @property
    def curriculum_instances(self) -> int:
        """How many instances the curriculum tells apart: all, or one if they are a sample of those trained on."""

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        """The tasks that the true machine of each task calls, as far as known, for the setting `RESTRICTED`."""

    @property
    def world(self) -> Any:
        """The arrays from which, with what was remembered, observations are computed again."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an observation."""

    @property
    def actions(self) -> int:
        """How many actions there are."""

    def driver(self, config: LhrmConfig, depth: int) -> Driver:
        """Who drives an agent through these worlds.

        Drivers are cheap: those for equal settings and depths share their compiled programs.

        Args:
            config: The settings of the agent and of exploration.
            depth: How many options can run at once, which is the height of the highest hierarchy.
        """


class Driver(Protocol):
    """Moves an agent and N environments. What changes meanwhile is in the `RunState` that is handed on."""

    @property
    def agent(self) -> HierarchicalAgent:
        """The agent's settings and functions, without what it has learned."""

    def create(self, knowledge: Knowledge, chance: Chance, key: PRNGKeyArray) -> RunState:
        """The state of an agent that has learned nothing, in environments that all begin an episode.

        Args:
            knowledge: The learned hierarchies, and how likely each task and instance is.
            chance: The generator that networks are initialized with.
            key: For everything that is drawn on the device.
        """

    def shapes(self, knowledge: Knowledge) -> Any:
        """The shapes of the arrays of a state. Nothing is computed, and no episode begins."""

    def chunk(self, knowledge: Knowledge, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        """Makes vector steps: as many as the settings say, or fewer, if all environments wait before.

        Args:
            knowledge: The learned hierarchies, and how likely each task and instance is.
            state: The present state. Its arrays are given away, so it cannot be used again.
            learns: Whether the Q-functions of formulas learn.
            most: The number of ended episodes with which the chunk ends, too.

        Returns:
            The state afterwards, and what was counted.
        """

    def restart(self, knowledge: Knowledge, state: RunState, which: Any) -> RunState:
        """Begins new episodes in the environments that the mask [N] selects."""

    def evaluate(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> Any:
        """Runs a greedy episode of every wanted task in each instance.

        Args:
            knowledge: The learned hierarchies.
            agent: What the agent has learned.
            wanted: A mask [T] of the tasks to run. Those without a machine are left out.
            seed: Of what is left to chance, such as ties.

        Returns:
            The returns [T, I]; 0 for tasks that were not run.
        """
