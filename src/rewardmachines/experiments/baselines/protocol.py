"""What a baseline is to whoever runs it: it takes episodes one by one, and has a flat machine at any moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeAlias

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.experiments.baselines.episode import FlatEpisode

Plain: TypeAlias = Any
"""A value that JSON can hold: numbers, texts, truth values, None, and lists and mappings of these."""


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


class Result(Enum):
    """What an attempt to learn a machine has come to."""

    FOUND = "found"
    """There is a new machine."""
    KEPT = "kept"
    """The machine stays as it was: no better one was found."""
    FAILED = "failed"
    """There is no machine within the bounds of the method, which ends the run."""


@dataclass(frozen=True)
class Attempt:
    """An attempt to learn a machine, for which one or several searches were asked for."""

    result: Result


@dataclass(frozen=True)
class MachineSize:
    """The size of a flat machine, counted as the published code of the method counts it."""

    states: int
    edges: int


class FlatLearner(Protocol):
    """A method that learns a flat machine from episodes. All of its choices are functions of episodes and seed.

    It is made by a function that `methods.py` lists, which is given the task, the settings of the method, a seed, and
    the function `Ask` for its searches.
    """

    @property
    def size(self) -> MachineSize | None:
        """The size of the present machine; None before there is one."""

    @property
    def machine(self) -> Hierarchy | None:
        """The present machine as a hierarchy of one machine; None if there is none, or it cannot be written so."""

    def take(self, episode: FlatEpisode) -> Attempt | None:
        """Takes the next episode, and learns a machine if the method says so.

        Args:
            episode: The episode, whose number is one more than that of the episode before.

        Returns:
            The attempt to learn a machine; None if there was none.

        Raises:
            OutOfTime: The time of the run was up. The learner has no meaning then until it is restored.
        """

    def snapshot(self) -> Mapping[str, Plain]:
        """All of its state, as values that JSON can hold; what is learned later does not change them."""

    def restore(self, state: Mapping[str, Plain]) -> None:
        """Restores the state of a snapshot, which may have been to JSON and back."""


Make: TypeAlias = Callable[..., FlatLearner]
"""Makes a learner: `make(task: FlatTask, config, seed: int, ask: Ask)`."""
