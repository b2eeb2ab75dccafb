"""The true flat machine of a task: it decides rewards and ends, and its size bounds that of learned machines."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.core.flattening import flatten
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.minimization import minimize
from rewardmachines.envs.scenario import Scenario


@dataclass(frozen=True)
class FlatTask:
    """What a baseline may know of a task before it learns."""

    name: str
    truth: Hierarchy
    """The minimal flat machine, over the labels that can occur. Only environments look into it."""
    propositions: tuple[str, ...]
    """The propositions that the environment can show."""

    @property
    def bound(self) -> int:
        """The number of states of the minimal flat machine, terminal ones included. As published, learners know it."""
        return len(self.truth[self.truth.root].states)


def flat_task(scenario: Scenario, task: str) -> FlatTask:
    """The flat form of a task of a scenario.

    Args:
        scenario: A domain in one of its settings.
        task: The name of one of the domain's tasks.
    """
    labels = scenario.domain.labels(dead_ends=scenario.dead_ends)
    truth = minimize(flatten(scenario.task(task)), labels)
    return FlatTask(task, truth, scenario.environment.propositions)
