"""Results of a search: a machine with the proof that it is smallest, the proof that there is none, or neither."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.learning.limits import Reason


@dataclass(frozen=True)
class Refutation:
    """The proof that no machine of this size explains the traces: the solver searched the whole space.

    Adding traces keeps it true; changing callables or options does not.
    """

    states: int
    """The number of states, the rejecting one not counted."""
    traces: int
    seconds: float
    how: str


@dataclass(frozen=True)
class Certificate:
    """Why there is no smaller machine."""

    refuted: tuple[Refutation, ...]
    edges_minimal: bool
    literals_minimal: bool


@dataclass(frozen=True)
class Learned:
    """The smallest machine that explains the traces."""

    machine: RewardMachine
    hierarchy: Hierarchy
    """The machine with all that it calls."""
    certificate: Certificate
    seconds: float
    calls: int
    """The number of solver calls for a machine of a given size: refutations count."""

    @property
    def states(self) -> int:
        """The number of states, the rejecting one not counted."""
        return len(self.machine.states) - len(self.machine.rejecting)

    @property
    def refuted(self) -> tuple[int, ...]:
        """The sizes that do not suffice."""
        return tuple(r.states for r in self.certificate.refuted)


@dataclass(frozen=True)
class Unsatisfiable:
    """Nothing up to `max_states` explains the traces."""

    max_states: int
    refutations: tuple[Refutation, ...]
    seconds: float
    calls: int

    @property
    def refuted(self) -> tuple[int, ...]:
        """The sizes that do not suffice."""
        return tuple(r.states for r in self.refutations)


@dataclass(frozen=True)
class TimedOut:
    """The search ended before its end: a machine, if there is one, has at least `bound` states."""

    bound: int
    refutations: tuple[Refutation, ...]
    seconds: float
    calls: int
    reason: Reason = "time"
    """The end of the search: its budget of time or memory was spent, or a solver was killed from outside."""

    @property
    def refuted(self) -> tuple[int, ...]:
        """The sizes that do not suffice."""
        return tuple(r.states for r in self.refutations)


Result = Learned | Unsatisfiable | TimedOut
