"""Clauses in the form in which solver processes are sent them, and what builds them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final

from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.worker import clauses_of

PENDING: Final = 1 << 16
"""Integers that are gathered in a list, which is quick to write to, before they go to the array, which is small."""


class Clauses:
    """One array of 32-bit integers in which a zero ends each clause: a tenth of the memory that lists would take."""

    def __init__(self, clauses: Iterable[Iterable[int]] = ()) -> None:
        self._array = array("i")
        self.pending: list[int] = []
        """The last clauses; inner loops may add to them, a zero after each."""
        self.extend(clauses)

    def append(self, clause: Iterable[int]) -> None:
        """Adds a clause."""
        self.pending += clause
        self.pending.append(0)

    def extend(self, clauses: Iterable[Iterable[int]]) -> None:
        """Adds clauses."""
        for clause in clauses:
            self.append(clause)
            self.settle()

    def settle(self) -> None:
        """Moves the last clauses to the array if they have become many."""
        if len(self.pending) > PENDING:
            self._move()

    @property
    def integers(self) -> array[int]:
        """All clauses."""
        if self.pending:
            self._move()
        return self._array

    def _move(self) -> None:
        self._array.fromlist(self.pending)
        self.pending.clear()

    def __iter__(self) -> Iterator[list[int]]:
        return clauses_of(self.integers)

    def __len__(self) -> int:
        return self.integers.count(0)


class ClauseBuilder:
    """Clauses and variables that become more, within the limits of a search."""

    def __init__(self, limits: SearchLimits) -> None:
        self._limits = limits
        self.clauses = Clauses()
        self.variables = 0
        """The number of variables; the last one has this number."""

    def check(self) -> None:
        """Called again and again, by every loop whose length depends on the task.

        Raises:
            BudgetExceeded: if a limit of the search is reached.
        """
        self._limits.check()
        self.clauses.settle()

    def new(self) -> int:
        """A new variable."""
        self.variables += 1
        return self.variables

    def many(self, count: int) -> range:
        """Allocates `count` fresh variables."""
        first = self.variables + 1
        self.variables += count
        return range(first, first + count)

    def either(self, literals: Iterable[int]) -> int:
        """A variable that can only be true if one of these is."""
        joined = self.new()
        self.clauses.append([-joined, *literals])
        return joined

    def all_of(self, literals: Iterable[int]) -> int:
        """A variable that can only be true if all of these are."""
        joined = self.new()
        self.clauses.extend([-joined, literal] for literal in literals)
        return joined
