"""The interfaces of a suite of tasks with their environments, and of the driver of an agent in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from jaxtyping import PRNGKeyArray

from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import Recall
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.tables import Counts, RunState, TaskTables

if TYPE_CHECKING:
    from rewardmachines.rollout.interface import Encode
    from rewardmachines.rollout.policy import Encoding


@dataclass(frozen=True)
class TaskSpec:
    """A task by its name and its level in the curriculum."""

    name: str
    level: int
    """The level, from 1. Machines call those of lower levels."""


def ranked(levels: Mapping[str, int]) -> tuple[TaskSpec, ...]:
    """Tasks in the order of their levels, otherwise in the order given.

    Levels are numbered anew from 1 without gaps, as tasks between them may have been left out.
    """
    ranks = {level: rank for rank, level in enumerate(sorted(set(levels.values())), start=1)}
    return tuple(TaskSpec(name, ranks[levels[name]]) for name in sorted(levels, key=levels.__getitem__))


class TaskSuite(Protocol):
    """Tasks, and the environments that they are trained in."""

    @property
    def tasks(self) -> tuple[TaskSpec, ...]:
        """The tasks, lowest level first."""

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that labels are made of."""

    @property
    def instances(self) -> int:
        """The number of instances that every task is evaluated in."""

    @property
    def curriculum_instances(self) -> int:
        """The number of instances with curriculum weights of their own: all, or 1 if they are a sample of many."""

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        """The tasks that the true machine of each task calls, as far as known, for the setting `RESTRICTED`."""

    @property
    def world(self) -> Any:
        """The arrays from which, with the content of the replay memory, observations are computed again."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an observation."""

    @property
    def actions(self) -> int:
        """The number of actions."""

    @property
    def recall(self) -> Recall:
        """Computes an observation from the arrays of the world and a stored moment."""

    @property
    def max_steps(self) -> int:
        """Steps after which an episode is truncated."""

    def driver(self, interaction: Interaction) -> Driver:
        """The driver of an agent in these environments.

        Drivers are cheap: equal interactions share their compiled programs.
        """

    @property
    def encoding(self) -> Encoding:
        """The encoding of observations, labels and actions for policies outside of training.

        Raises:
            RewardMachineError: A function that encodes observations is missing.
        """

    def record(self) -> Any:
        """The state of the suite that is not in the `RunState`, as plain JSON values; None if there is none."""

    def restore(self, record: Any, where: str) -> Any:
        """Restores the state of a record, after a driver was created.

        Args:
            record: The record.
            where: The text with which error messages begin.

        Returns:
            A mask [N] of the environments that must begin new episodes; None for none.

        Raises:
            RewardMachineError: The record is damaged, or belongs to another run.
        """

    def check(self, encode: Encode | None, where: str) -> None:
        """Checks that the environments match those in which the run was begun.

        Args:
            encode: The function that encodes observations, if there is one.
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: Their observations, labels or actions differ.
        """

    def close(self) -> None:
        """Closes the environments, if necessary."""


class Driver(Protocol):
    """The driver of an agent in N environments. Everything that changes is in the `RunState` that is passed on."""

    @property
    def interaction(self) -> Interaction:
        """The agent's part of a step."""

    def create(self, tables: TaskTables, chance: Chance, key: PRNGKeyArray) -> RunState:
        """The state of an untrained agent, in environments that all begin an episode.

        Args:
            tables: The hierarchies, and the sampling weights of tasks and instances.
            chance: The random generator of initial weights.
            key: The random key of the device.
        """

    def shapes(self, tables: TaskTables) -> Any:
        """The shapes of the arrays of a state. Nothing is computed, and no episode begins."""

    def chunk(self, tables: TaskTables, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        """Makes vector steps: the number in the settings, or fewer, if all environments wait before.

        Args:
            tables: The hierarchies, and the sampling weights of tasks and instances.
            state: The present state. Its arrays are donated, so it cannot be used again.
            learns: Whether the Q-functions of formulas learn.
            most: The number of ended episodes at which the chunk also ends.

        Returns:
            The state afterwards, and the counts of the chunk.
        """

    def restart(self, tables: TaskTables, state: RunState, which: Any) -> RunState:
        """Begins new episodes in the environments that the mask [N] selects."""

    def evaluate(self, tables: TaskTables, agent: Any, wanted: Any, seed: int) -> tuple[Any, Any] | None:
        """Runs a greedy episode of every wanted task in each instance.

        Args:
            tables: The hierarchies.
            agent: The agent's state.
            wanted: A mask [T] of the tasks to run. Tasks without a machine are left out.
            seed: The seed of random choices, such as between ties.

        Returns:
            The returns [T, I], 0 for tasks that were not run, and the lengths of the episodes, [T, I] too. Of several
            episodes in an instance, these are means. None if greedy episodes cannot be begun.
        """
