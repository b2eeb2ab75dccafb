"""What a report is made of: as much of a run as it needs to know."""

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
"""Told what is being made."""


class WorldsView(Protocol):
    @property
    def tasks(self) -> tuple[TaskSpec, ...]:
        """In the order of the run's rows."""

    @property
    def scenario(self) -> Scenario: ...

    def tree(self, name: str) -> Hierarchy:
        """The true hierarchy of a task."""


class SpecView(Protocol):
    @property
    def domain(self) -> str: ...

    @property
    def setting(self) -> str: ...

    @property
    def config(self) -> LhrmConfig: ...

    @property
    def seed(self) -> int: ...

    @property
    def instances(self) -> int: ...


class OrderView(Protocol):
    @property
    def stop_at(self) -> float: ...

    @property
    def budget(self) -> Budget: ...


class MomentView(Protocol):
    @property
    def steps(self) -> int: ...

    @property
    def seconds(self) -> float: ...

    @property
    def learner_seconds(self) -> float: ...


class RunView(Protocol):
    """A run that may not be finished: tasks may have no machine, and nothing may have been evaluated."""

    @property
    def spec(self) -> SpecView: ...

    @property
    def order(self) -> OrderView: ...

    @property
    def worlds(self) -> WorldsView: ...

    def rows(self) -> Sequence[Row]: ...

    def moments(self) -> Sequence[MomentView]: ...

    def hierarchies(self) -> Mapping[str, Hierarchy]:
        """That were learned."""

    def examples(self) -> Mapping[str, tuple[Trace, ...]]: ...

    def learnings(self) -> Mapping[str, Learning]: ...

    def first(self) -> Mapping[str, int]:
        """Episodes from the activation of its level to the first machine of a task."""

    def missing(self) -> Mapping[str, str]:
        """What every task that is not learned well enough lacks, in words."""

    def policy(self, task: str) -> Actor: ...

    def environment(self, task: str, instance: int) -> ScenarioEnv: ...
