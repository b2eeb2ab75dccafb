"""Machines that can be called in place of each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rewardmachines.core.configurations import Configurations
from rewardmachines.core.errors import NondeterminismError, TooManyConfigurationsError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import LabelSet, LabelSets
from rewardmachines.core.machine import RewardMachine
from rewardmachines.core.moves import Frames, Moves
from rewardmachines.core.pair_search import search


class Twins:
    """The machines added so far, and for each the first that does the same.

    Args:
        moves: Where the machines are added.
        sets: The label sets of these moves.
        allowed: The labels that can occur.
    """

    def __init__(self, moves: Moves, sets: LabelSets, allowed: LabelSet) -> None:
        self._moves = moves
        self._sets = sets
        self._allowed = allowed
        self._alike: dict[tuple[LabelSet, int | None], list[int]] = {}
        """Machines that start on the same labels and need equally many of them to return, which is soon compared."""

    def add(self, machine: RewardMachine, callees: Mapping[str, int]) -> int:
        """Adds a machine that is called, and whose callees have been added.

        Returns:
            The number of the first machine that can be called in its place, often its own.
        """
        number = self._moves.add(machine, callees)
        frames = self._moves.initial(number)
        can_return = all(frame in self._moves.returns for frame in frames)
        length = self._length(frames) if can_return else None
        alike = self._alike.setdefault((self._moves.starts(number), length), [])
        for other in alike:
            if number == other or self._are_interchangeable(number, other):
                return other
        alike.append(number)
        return number

    def add_hierarchy(self, hierarchy: Hierarchy) -> int:
        """Adds the root and all that it calls.

        Returns:
            The number of the root.
        """
        numbers: dict[str, int] = {}
        root = hierarchy[hierarchy.root]
        for machine in sorted(hierarchy.reachable(), key=lambda m: hierarchy.heights[m.name]):
            if machine is not root:
                numbers[machine.name] = self.add(machine, numbers)
        return self._moves.add(root, numbers)

    def _length(self, frames: Frames) -> int:
        return sum(self._moves.returns[frame].length for frame in frames)

    def _are_interchangeable(self, a: int, b: int) -> bool:
        """Whether two machines that start on the same labels do the same; larger ones are compared by their form."""
        configurations = Configurations(self._moves, self._sets)
        start = (configurations.of(self._moves.initial(a)), configurations.of(self._moves.initial(b)))
        try:
            return search(configurations, start, self._allowed, self._length, _MAX_PAIRS) is None
        except (TooManyConfigurationsError, NondeterminismError):
            return False


_MAX_PAIRS: Final = 5_000
