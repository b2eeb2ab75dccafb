"""Results of a search: a machine with the proof that it is smallest, the proof that there is none, or neither."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.learning.limits import Reason
from rewardmachines.traces import Trace


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
class Asked:
    """The questions that an oracle answered during a search."""

    traces: tuple[Trace, ...]
    """The traces that were given and those that were asked, with their outcomes."""
    membership: int
    """The number of traces whose outcome was asked."""
    equivalence: int
    """The number of machines of which a counterexample was asked."""
    unique_up_to: int | None
    """No machine of up to this size that explains the traces has another verdict on any trace over the alphabet; None
    if that was not proved. The size is a number of states, the rejecting one not counted."""


@dataclass(frozen=True)
class GivenUp:
    """A trace that the machine does not explain."""

    trace: Trace
    weight: int
    """The number of times that the trace was given."""
    error: Trace
    """The trace up to where the machine is first wrong."""


@dataclass(frozen=True)
class MistakeBound:
    """The proof that every machine of this size makes at least so many mistakes."""

    states: int
    """The number of states, the rejecting one not counted."""
    mistakes: int
    told: int
    """The number of different traces that the proof needs, whole or in part."""
    seconds: float
    reason: Reason | None = None
    """Why the search for more ended early, if it did."""


@dataclass(frozen=True)
class Noise:
    """The mistakes of a machine that was learned from traces some of which are wrong.

    The machine is the best that was found. Nothing proves that no other one of its size makes fewer, and only a
    certificate, that every smaller one makes more.
    """

    rate: float
    """The share of the traces that may be wrong, as given."""
    given_up: tuple[GivenUp, ...]
    traces: int
    """The number of traces, repetitions counted."""
    allowed: int
    """The number of wrong traces that the rate does not exceed in 99 of 100 cases."""
    restarts: int
    """The number of searches from the start, of which the best machine was kept."""
    bounds: tuple[MistakeBound, ...] = ()
    """For each smaller size that was searched for a certificate, the mistakes that are proved."""
    is_certified: bool = False
    """Whether it is proved that every machine with fewer states makes more mistakes."""

    @property
    def mistakes(self) -> int:
        """The number of traces given up, repetitions counted."""
        return sum(given_up.weight for given_up in self.given_up)

    @property
    def refuted(self) -> tuple[int, ...]:
        """The sizes of which it is proved that every machine makes more mistakes."""
        return tuple(bound.states for bound in self.bounds if bound.mistakes > self.mistakes)

    @property
    def is_plausible(self) -> bool:
        """Whether the rate allows that many mistakes."""
        return self.mistakes <= self.allowed


@dataclass(frozen=True)
class Learned:
    """The smallest machine that explains the traces; with noise, the best that was found to explain most of them."""

    machine: RewardMachine
    hierarchy: Hierarchy
    """The machine with all that it calls."""
    certificate: Certificate
    seconds: float
    calls: int
    """The number of solver calls for a machine of a given size: refutations count."""
    asked: Asked | None = None
    """The questions to an oracle that answers them, if there was one."""
    noise: Noise | None = None
    """The traces that were given up; None where all traces had to be explained."""

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
    asked: Asked | None = None

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
    asked: Asked | None = None

    @property
    def refuted(self) -> tuple[int, ...]:
        """The sizes that do not suffice."""
        return tuple(r.states for r in self.refutations)


Result = Learned | Unsatisfiable | TimedOut
