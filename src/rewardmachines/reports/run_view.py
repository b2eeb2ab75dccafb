"""The parts of a run that reports read, as protocols: a run on disk satisfies them, and so can any other object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.scenario import Scenario
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.induction import Learning
from rewardmachines.lhrm.machine_pool import TaskSpec
from rewardmachines.reports.film import Actor
from rewardmachines.runs.budget import Budget
from rewardmachines.traces import Trace

if TYPE_CHECKING:
    from rewardmachines.envs.gymnasium.single import ScenarioEnv

Progress: TypeAlias = Callable[[str], object]
"""Called with the name of each part of a report before it is made."""


class WorldsView(Protocol):
    """The tasks of a run, and where they are learned."""

    @property
    def tasks(self) -> tuple[TaskSpec, ...]:
        """The tasks, in the order in which the rows of the run list them."""


class DomainWorldsView(WorldsView, Protocol):
    """Tasks that are learned in a domain, which knows their true hierarchies."""

    @property
    def scenario(self) -> Scenario:
        """The domain in its setting, with its instances."""

    def tree(self, name: str) -> Hierarchy:
        """The true hierarchy of a task."""


class SpecView(Protocol):
    """What is learned in a run."""

    @property
    def config(self) -> LhrmConfig:
        """The settings of LHRM."""

    @property
    def seed(self) -> int:
        """The seed of the run."""

    @property
    def instances(self) -> int:
        """The number of instances of each task."""


class DomainSpecView(SpecView, Protocol):
    """What is learned in a domain."""

    @property
    def fresh(self) -> int:
        """How many further instances were drawn to be trained on; 0 if those that are evaluated were."""

    @property
    def domain(self) -> str:
        """The name of the domain."""

    @property
    def setting(self) -> str:
        """The name of its setting."""


class OrderView(Protocol):
    """When a run ends."""

    @property
    def stop_at(self) -> float:
        """The mean return that is good enough for every task; with 0, no return is."""

    @property
    def budget(self) -> Budget:
        """How long the run may take."""


class MomentView(Protocol):
    """The moment at which a chunk was done."""

    @property
    def steps(self) -> int:
        """The steps that were taken in all environments by then."""

    @property
    def seconds(self) -> float:
        """The time that the run had taken by then."""

    @property
    def learner_seconds(self) -> float:
        """The part of this time that searches for machines took."""


class RunView(Protocol):
    """A run that may not be finished: tasks may have no machine, and nothing may have been evaluated."""

    @property
    def spec(self) -> SpecView:
        """What is learned."""

    @property
    def order(self) -> OrderView:
        """When the run ends."""

    @property
    def worlds(self) -> WorldsView:
        """The tasks, and where they are learned."""

    def rows(self) -> Sequence[Row]:
        """The metrics of the run, a row for each chunk."""

    def moments(self) -> Sequence[MomentView]:
        """The moment at which each chunk was done."""

    def hierarchies(self) -> Mapping[str, Hierarchy]:
        """The hierarchies that were learned, by task."""

    def examples(self) -> Mapping[str, tuple[Trace, ...]]:
        """The traces that the learned hierarchies were learned from, by task."""

    def learnings(self) -> Mapping[str, Learning]:
        """How the machine of each task was learned: examples, searches, setbacks."""

    def first(self) -> Mapping[str, int]:
        """Episodes from the activation of a task's level to its first machine, by task."""

    def missing(self) -> Mapping[str, str]:
        """What every task that is not learned well enough lacks, in words."""

    @property
    def in_domain(self) -> DomainRunView | None:
        """The run with all that its domain knows of it; None if it took place in environments of somebody else."""


class DomainRunView(RunView, Protocol):
    """A run in a domain, whose tasks have true hierarchies, and whose episodes can be filmed."""

    @property
    def spec(self) -> DomainSpecView:
        """What is learned."""

    @property
    def worlds(self) -> DomainWorldsView:
        """The tasks, and where they are learned."""

    def policy(self, task: str) -> Actor:
        """The policy of a task that has a machine."""

    def environment(self, task: str, instance: int) -> ScenarioEnv:
        """The environment of a task, with one instance for all episodes."""
