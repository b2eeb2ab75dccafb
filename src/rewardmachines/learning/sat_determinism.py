"""Determinism, exact over all labels: of two edges out of a state, no label may satisfy both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from rewardmachines.core.formula import Conjunction
from rewardmachines.core.machine import LEAF
from rewardmachines.core.traversal import exit_condition
from rewardmachines.learning.clauses import ClauseBuilder
from rewardmachines.learning.sat_machine import MachineVariables


def add_determinism(machine: MachineVariables, builder: ClauseBuilder) -> None:
    """Adds the clauses that exclude two edges at once; what a callee demands to start counts as a part of the edge."""
    _Determinism(machine, builder).add()


class _Determinism:
    def __init__(self, machine: MachineVariables, builder: ClauseBuilder) -> None:
        self._machine = machine
        self._builder = builder

    def add(self) -> None:
        conditions = [self._exit_disjuncts(callee) for callee in self._machine.callees]
        self._effective: dict[tuple[int, int], tuple[int, list[int], list[int]]] = {}
        most = max(map(len, conditions))
        for slot in range(len(self._machine.slots)):
            for d in range(most):
                self._builder.check()
                self._effective[slot, d] = self._effective_literals(slot, d, conditions)
        dead = {key: self._dead(*key, conditions) for key in self._effective}
        for state in range(self._machine.inner):
            for first, second in combinations(self._machine.slots_from[state], 2):
                same = self._same_edge(first, second)
                for d1 in range(most):
                    for d2 in range(most):
                        self._exclude((first, d1), (second, d2), same, dead)

    def _exit_disjuncts(self, callee: str) -> list[Conjunction]:
        if callee == LEAF:
            return [Conjunction()]
        called = self._machine.task.callees[callee]
        return exit_condition(called, called.root, called[called.root].initial).ordered()

    def _effective_literals(
        self, slot: int, d: int, conditions: Sequence[Sequence[Conjunction]]
    ) -> tuple[int, list[int], list[int]]:
        """Whether the edge's callee has a `d`-th way to start, and the literals of edge and way together."""
        demanding = [m for m, ways in enumerate(conditions) if len(ways) > d]
        if len(demanding) == len(conditions) and all(not ways[d].propositions for ways in conditions):
            return self._machine.used[slot], self._machine.positive[slot], self._machine.negative[slot]
        active = self._machine.used[slot] if len(demanding) == len(conditions) else self._builder.new()
        for m in demanding:
            self._builder.clauses.append([-self._machine.call[slot][m], active])
        positive, negative = list(self._machine.positive[slot]), list(self._machine.negative[slot])
        for p, proposition in enumerate(self._machine.task.propositions):
            for own, attribute in ((positive, "required"), (negative, "forbidden")):
                adding = [
                    self._machine.call[slot][m]
                    for m in demanding
                    if proposition in getattr(conditions[m][d], attribute)
                ]
                if adding:
                    own[p] = self._builder.either([own[p], *adding])
        return active, positive, negative

    def _dead(self, slot: int, d: int, conditions: Sequence[Sequence[Conjunction]]) -> int | None:
        """A variable that can only be true if edge and way contradict each other; None if they cannot."""
        self._builder.check()
        if all(len(ways) <= d or not ways[d].propositions for ways in conditions):
            return None
        reasons = []
        for m, ways in enumerate(conditions):
            if len(ways) > d:
                for p, proposition in enumerate(self._machine.task.propositions):
                    for mine, theirs in (
                        (self._machine.negative, ways[d].required),
                        (self._machine.positive, ways[d].forbidden),
                    ):
                        if proposition in theirs:
                            reasons.append(self._builder.all_of([self._machine.call[slot][m], mine[slot][p]]))
        return self._builder.either(reasons)

    def _same_edge(self, first: int, second: int) -> int | None:
        """A variable that says that two disjuncts between the same states call one machine, and so are one edge."""
        if self._machine.slots[first].target != self._machine.slots[second].target:
            return None
        same = self._builder.new()
        for a, b in zip(self._machine.call[first], self._machine.call[second], strict=True):
            self._builder.clauses.append([-same, -a, b])
        return same

    def _exclude(
        self, first: tuple[int, int], second: tuple[int, int], same: int | None, dead: dict[tuple[int, int], int | None]
    ) -> None:
        self._builder.check()
        active1, positive1, negative1 = self._effective[first]
        active2, positive2, negative2 = self._effective[second]
        reasons = [reason for reason in (same, dead[first], dead[second]) if reason is not None]
        for p in range(len(self._machine.task.propositions)):
            reasons.append(self._builder.all_of([positive1[p], negative2[p]]))
            reasons.append(self._builder.all_of([negative1[p], positive2[p]]))
        self._builder.clauses.append([-active1, -active2, *reasons])
