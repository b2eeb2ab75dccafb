"""The protocol of baselines: they take episodes one by one, and have a flat machine at any moment.

Nothing here loads JAX, which processes that search do not need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.minimization import minimize
from rewardmachines.core.sizes import Size
from rewardmachines.traces import Outcome

if TYPE_CHECKING:
    from rewardmachines.envs.scenarios import Scenario

LEARNER_SECONDS: Final = 7200.0
"""The seconds that the searches of a published run could take."""
Plain: TypeAlias = Any
"""A value that JSON can hold: numbers, texts, truth values, None, and lists and mappings of these."""


@dataclass(frozen=True)
class FlatConfig:
    """The settings that all methods have."""

    learner_seconds: float = LEARNER_SECONDS
    """The seconds that all searches of a run may take together. The run ends when they are over."""

    def __post_init__(self) -> None:
        if not self.learner_seconds > 0:
            raise RewardMachineError(f"more than {self.learner_seconds:g} seconds are needed to learn")


# -- what a method learns from


@dataclass(frozen=True)
class FlatTask:
    """The prior knowledge of a baseline about a task."""

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
    """The flat form of a task: its true machine decides rewards and ends, and its size bounds that of learned ones.

    Args:
        scenario: A domain in one of its settings.
        task: The name of one of the domain's tasks.
    """
    labels = scenario.domain.labels(dead_ends=scenario.dead_ends)
    truth = minimize(flatten(scenario.task(task)), labels)
    return FlatTask(task, truth, scenario.environment.propositions)


@dataclass(frozen=True)
class FlatEpisode:
    """An episode without its repetitions: labels that equal the one before are left out, empty ones are kept.

    Of a run of equal labels the first one counts, with its reward: that of a label that is left out is lost, as in the
    published code of JIRP.
    """

    number: int
    """The number of the episode in its run, from 1."""
    labels: tuple[Label, ...]
    """The labels, that of the first state included."""
    times: tuple[int, ...]
    """The number of steps after which each of them was observed first; 0 for the first state."""
    outcome: Outcome
    """The end of the episode; incomplete, if it was truncated."""
    steps: int
    """The number of steps that were taken."""

    @property
    def rewards(self) -> tuple[int, ...]:
        """The reward of each label: 1 for that with which the episode reached the goal, 0 for all others."""
        return tuple([int(self.outcome is Outcome.GOAL and time == self.steps) for time in self.times])

    @property
    def has_ended(self) -> bool:
        """Whether it ended, at the goal or in a dead end, rather than being cut off."""
        return self.outcome is not Outcome.INCOMPLETE

    def without_first_state(self) -> FlatEpisode:
        """The episode from the label after the first step on: the traces of JIRP and DeepSynth begin there."""
        if self.steps == 0:
            return replace(self, labels=(), times=())
        if self.times[1:2] == (1,):
            return replace(self, labels=self.labels[1:], times=self.times[1:])
        return replace(self, times=(1, *self.times[1:]))  # the label of the first state was still there


# -- what a method does


class OutOfTime(Exception):
    """The time that a run may spend on learning is up. Learners let it pass; the run then ends as interrupted."""


class Ask(Protocol):
    """Has a search done in a process of its own, whose time counts as time of learning."""

    def __call__(self, search: Callable[[Plain], Plain], problem: Plain) -> Plain:
        """Waits for the result of a search.

        Args:
            search: A function at the top level of a module of the package. It must be a function of its argument: what
                it returns must depend neither on the time nor on the machine.
            problem: Its argument.

        Returns:
            What it returns.

        Raises:
            OutOfTime: The time of the run was up before. The search is ended then, wherever it was.
        """


class Attempt(Enum):
    """The outcome of an attempt to learn a machine.

    FOUND: there is a new machine. KEPT: no better one was found. FAILED: there is none within the bounds of the method,
    which ends the run.
    """

    FOUND = "found"
    KEPT = "kept"
    FAILED = "failed"


class FlatLearner(Protocol):
    """A method that learns a flat machine from episodes. All of its choices are functions of episodes and seed."""

    @property
    def size(self) -> Size | None:
        """The size of the present machine, counted as the published code counts it; None before there is one."""

    @property
    def machine(self) -> Hierarchy | None:
        """The present machine as a hierarchy of one machine; None if there is none, or it cannot be written so."""

    def take(self, episode: FlatEpisode) -> Attempt | None:
        """Takes the next episode, and learns a machine if the method says so.

        Args:
            episode: The episode, whose number is one more than that of the episode before.

        Returns:
            What the attempt to learn a machine has come to; None if there was none.

        Raises:
            OutOfTime: The time of the run was up. The learner has no meaning then until it is restored.
        """

    def snapshot(self) -> Mapping[str, Plain]:
        """All of its state, as values that JSON can hold; what is learned later does not change them."""

    def restore(self, state: Mapping[str, Plain]) -> None:
        """Restores the state of a snapshot, which may have been to JSON and back."""


Make: TypeAlias = Callable[..., FlatLearner]
"""Makes a learner: `make(task: FlatTask, config, seed: int, ask: Ask)`."""
