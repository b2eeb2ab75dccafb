"""Where tasks are learned: environments side by side, driven a chunk at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from jaxtyping import Array, Int32, PRNGKeyArray

from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import Losses
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.interaction import Crew, Knowledge
from rewardmachines.lhrm.machine_pool import TaskSpec


class Counts(NamedTuple):
    """Of a chunk, by task."""

    episodes: Int32[Array, " T"]
    """That ended. One that was cut short by a counterexample is none."""
    goals: Int32[Array, " T"]
    steps: Int32[Array, ""]
    """That were really made, of all tasks together: an environment that waits makes none."""
    losses: Losses


class RunState(NamedTuple):
    """All that is on the device."""

    agent: AgentState
    crew: Crew
    environments: Any
    """What only the environments know; nothing, if they keep it to themselves."""
    unlearned: Int32[Array, ""]
    """Steps that were made since the agent last learned; once there is one for every environment, it learns again."""
    key: PRNGKeyArray


class TaskWorlds(Protocol):
    """What a run needs to know and do; whether environments are compiled or not is left to it."""

    @property
    def tasks(self) -> tuple[TaskSpec, ...]: ...

    @property
    def propositions(self) -> tuple[str, ...]: ...

    @property
    def instances(self) -> int:
        """Of every task."""

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        """What each task is known to be made of, if anything is: for machines that may call nothing else."""

    @property
    def world(self) -> Any:
        """What observations are recalled with."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an observation."""

    @property
    def actions(self) -> int: ...

    def prepare(self, config: LhrmConfig, depth: int) -> None:
        """For agents whose options are at most so deep; programs that do not fit are dropped."""

    def create(self, knowledge: Knowledge, chance: Chance, key: PRNGKeyArray) -> RunState:
        """Nothing learned, everybody at the beginning."""

    def chunk(self, knowledge: Knowledge, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        """At most so many vector steps as the settings say. The state that is given cannot be used again.

        It is over sooner if all environments wait.

        Args:
            knowledge: What is believed.
            state: Where things stand.
            learns: Whether Q-functions of formulas learn.
            most: The number of episodes with which it is over, too.
        """

    def restart(self, knowledge: Knowledge, state: RunState, which: Any) -> RunState:
        """New episodes where the mask says so."""

    def evaluate(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> Any:
        """Returns of a greedy episode of every wanted task in each instance, [T, I]; 0 for the others."""
