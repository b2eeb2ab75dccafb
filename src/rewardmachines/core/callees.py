"""The machines of a hierarchy that is rebuilt from the leaf upwards, each kept only if no other does the same."""

from __future__ import annotations

from typing import Final

from rewardmachines.core.configurations import Configurations
from rewardmachines.core.errors import TooManyConfigurationsError
from rewardmachines.core.labelsets import EMPTY, EVERY, LabelSet, LabelSets
from rewardmachines.core.machine import LEAF, RewardMachine
from rewardmachines.core.moves import Frames, Moves
from rewardmachines.core.pair_search import search


class Callees:
    """What can be called so far, and which machine to call in place of another.

    Args:
        sets: The label sets that conditions are compared in.
        allowed: The labels that can occur.
        root: The machine that nobody calls, which is never merged.
        merge: Whether machines that can be called in place of each other become one.
    """

    def __init__(self, sets: LabelSets, allowed: LabelSet, root: str, *, merge: bool) -> None:
        self._sets = sets
        self._allowed = allowed
        self._root = root
        self._merge = merge
        self._moves = Moves(sets, allowed)
        self._numbers: dict[str, int] = {}
        self._alike: dict[tuple[LabelSet, int | None], list[str]] = {}
        """Machines that start on the same labels and need equally many of them to return, which is soon compared."""
        self.kept: dict[str, RewardMachine] = {}
        self.representatives = {LEAF: LEAF}
        """For every machine added, the one to call in its place."""
        self.starts = {LEAF: EVERY}
        """For every machine kept, the labels on which a call of it starts."""

    def add(self, machine: RewardMachine) -> None:
        """Keeps the machine, whose callees were added before, unless one kept earlier does the same."""
        twin = self._twin(machine) if self._merge and machine.name != self._root else None
        self.representatives[machine.name] = twin or machine.name
        if twin is None:
            self.kept[machine.name] = machine
            self.starts[machine.name] = self._starts(machine)

    def _starts(self, machine: RewardMachine) -> LabelSet:
        starts = EMPTY
        for edge in machine.outgoing(machine.initial):
            labels = self._sets.both(self._sets.of(edge.formula), self.starts[edge.callee])
            starts = self._sets.either(starts, labels)
        return starts

    def _twin(self, machine: RewardMachine) -> str | None:
        """A machine kept earlier that can be called instead; if there is none, this one is remembered."""
        number = self._numbers[machine.name] = self._moves.add(machine, self._numbers)
        frames = self._moves.initial(number)
        can_return = all(frame in self._moves.returns for frame in frames)
        length = self._length(frames) if can_return else None
        alike = self._alike.setdefault((self._moves.starts(number), length), [])
        for other in alike:
            if number == self._numbers[other] or self._are_interchangeable(number, self._numbers[other]):
                return other
        alike.append(machine.name)
        return None

    def _length(self, frames: Frames) -> int:
        return sum(self._moves.returns[frame].length for frame in frames)

    def _are_interchangeable(self, a: int, b: int) -> bool:
        """Whether two machines that start on the same labels do the same; larger ones are told apart by their form."""
        configurations = Configurations(self._moves, self._sets)
        start = (configurations.of(self._moves.initial(a)), configurations.of(self._moves.initial(b)))
        try:
            return search(configurations, start, self._allowed, self._length, _MAX_COMPARED_PAIRS) is None
        except TooManyConfigurationsError:
            return False


_MAX_COMPARED_PAIRS: Final = 5_000
