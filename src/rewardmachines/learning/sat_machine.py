"""The machine that is searched for, as variables: where its edges may be, what they call and what they demand.

An *edge slot* is a pair of states and the number of a disjunct: there may be an edge, with a callee and literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

from rewardmachines.core.formula import Conjunction, Formula
from rewardmachines.core.machine import ACCEPTING, LEAF, REJECTING, Edge, RewardMachine
from rewardmachines.learning.clauses import ClauseBuilder
from rewardmachines.learning.task import LearningTask, state_names

ACCEPT: Final = -1
REJECT: Final = -2


@dataclass(frozen=True, slots=True)
class Slot:
    """The possible edges: from an inner state to another, or to ACCEPT or REJECT."""

    source: int
    target: int
    number: int


class MachineVariables:
    """The variables of a machine, and the clauses of its form."""

    def __init__(self, task: LearningTask, inner: int, builder: ClauseBuilder) -> None:
        self.task = task
        self.inner = inner
        self._builder = builder
        self.callees = (LEAF, *task.callees)
        self.slots = list(self._possible_slots())
        self.slots_from: list[list[int]] = [[] for _ in range(inner)]
        for number, slot in enumerate(self.slots):
            self.slots_from[slot.source].append(number)
        self._structure()

    def _possible_slots(self) -> Iterator[Slot]:
        ends = (ACCEPT, REJECT) if self.task.has_dead_ends else (ACCEPT,)
        for source in range(self.inner):
            later = range(source + 1, self.inner) if self.task.options.acyclic else range(self.inner)
            for target in (*(t for t in later if t != source), *ends):
                for number in range(self.task.options.disjuncts):
                    self._builder.check()
                    yield Slot(source, target, number)

    def _structure(self) -> None:
        properties = len(self.task.propositions)
        self.used = self._builder.many(len(self.slots))
        self.call = [self._builder.many(len(self.callees)) for _ in self.slots]
        self.positive = [list(self._builder.many(properties)) for _ in self.slots]
        self.negative = [list(self._builder.many(properties)) for _ in self.slots]
        self.described = self._builder.variables
        """The variables up to this one describe the machine; the others follow from them."""
        for slot in range(len(self.slots)):
            self._builder.check()
            self._edge(slot)
        for number, (first, second) in enumerate(pairwise(self.slots)):
            if (first.source, first.target) == (second.source, second.target):
                self._builder.clauses.append([-self.used[number + 1], self.used[number]])
        self._graph()

    def _edge(self, slot: int) -> None:
        used, call = self.used[slot], self.call[slot]
        add = self._builder.clauses.append
        add([-used, *call])
        for callee in call:
            add([-callee, used])
        for first, second in combinations(call, 2):
            add([-first, -second])
        for yes, no in zip(self.positive[slot], self.negative[slot], strict=True):
            add([-yes, -no])
            add([-yes, used])
            add([-no, used])
        literals = self.positive[slot] + (self.negative[slot] if self.task.options.negative_formulas else [])
        add([-call[0], *literals])

    def _graph(self) -> None:
        """Every state is left and, but for the first, entered; numbers follow from the form of the machine."""
        self.between: dict[tuple[int, int], int] = {}
        for number, slot in enumerate(self.slots):
            self.between.setdefault((slot.source, slot.target), self.used[number])
        for state in range(self.inner):
            self._builder.clauses.append([self.used[s] for s in self.slots_from[state]])
            if state:
                self._builder.clauses.append([used for (_, target), used in self.between.items() if target == state])
        if self.task.options.acyclic:
            self._number_topologically()
        else:
            self._number_breadth_first()

    def _number_topologically(self) -> None:
        """Of two neighbours in the numbering that no edge joins, the first is entered from the lower state.

        Every acyclic machine can be numbered so: go on with a state all of whose predecessors have numbers, and among
        these with the one entered from the lowest.
        """
        for j in range(1, self.inner - 1):
            for i in range(j):
                entered_lower = [self.between[h, j + 1] for h in range(i)] + [self.between[h, j] for h in range(i + 1)]
                self._builder.clauses.append([-self.between[i, j + 1], self.between[j, j + 1], *entered_lower])

    def _number_breadth_first(self) -> None:
        """The lowest state that enters a state is lower than it, and does not fall as the numbers rise."""
        for j in range(1, self.inner):
            self._builder.clauses.append([self.between[i, j] for i in range(j)])
        for j in range(1, self.inner - 1):
            for i in range(j + 1):
                entered_lower = [self.between[h, j + 1] for h in range(i)]
                entered_lower += [self.between[h, j] for h in range(min(i + 1, j))]
                if i == j:
                    continue
                self._builder.clauses.append([-self.between[i, j + 1], *entered_lower])

    def machine(self, model: Iterable[int]) -> RewardMachine:
        """The machine that a solution stands for."""
        true = {literal for literal in model if literal > 0}
        rejecting = self.task.has_dead_ends
        names = state_names(self.inner, rejecting=rejecting)
        edges = []
        for number, slot in enumerate(self.slots):
            if self.used[number] in true:
                callee = next(c for c, v in zip(self.callees, self.call[number], strict=True) if v in true)
                required, forbidden = (
                    frozenset(p for p, v in zip(self.task.propositions, literals[number], strict=True) if v in true)
                    for literals in (self.positive, self.negative)
                )
                formula = Formula(frozenset({Conjunction(required, forbidden)}))
                edges.append(Edge(names[slot.source], _name(slot.target, names), formula, callee))
        entered = {edge.target for edge in edges}
        states = tuple(n for n in names if n != REJECTING or n in entered)
        return RewardMachine(
            name=self.task.name,
            states=states,
            edges=tuple(edges),
            initial=names[0],
            accepting=frozenset({ACCEPTING}),
            rejecting=frozenset({REJECTING} & set(states)),
        )


def _name(target: int, names: Sequence[str]) -> str:
    return {ACCEPT: ACCEPTING, REJECT: REJECTING}.get(target) or names[target]
