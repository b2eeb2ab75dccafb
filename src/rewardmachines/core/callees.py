"""The machines of a hierarchy that is rebuilt from the leaf upwards, each kept only if no other does the same."""

from __future__ import annotations

from rewardmachines.core.labelsets import EMPTY, EVERY, LabelSet, LabelSets
from rewardmachines.core.machine import LEAF, RewardMachine
from rewardmachines.core.moves import Moves
from rewardmachines.core.twins import Twins


class Callees:
    """The machines that can be called so far, and their representatives.

    Args:
        sets: The label sets that conditions are compared in.
        allowed: The labels that can occur.
        root: The root machine, which is never merged.
        merge: Whether machines that can be called in place of each other become one.
    """

    def __init__(self, sets: LabelSets, allowed: LabelSet, root: str, *, merge: bool) -> None:
        self._sets = sets
        self._root = root
        self._merge = merge
        self._twins = Twins(Moves(sets, allowed), sets, allowed)
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
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
        number = self._numbers[machine.name] = self._twins.add(machine, self._numbers)
        first = self._names.setdefault(number, machine.name)
        return None if first == machine.name else first
