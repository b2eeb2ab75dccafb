"""A learning task of a given size as clauses: satisfiable if and only if there is a machine of that size.

An *edge slot* is a pair of states and the number of a disjunct: there may be an edge, with a callee and literals.
Formulas are judged on the distinct labels, not on every step. Walks are forced forwards only, and ends are described by
what they must not be, so that nothing need be said about states that a walk is not in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final, TypeAlias

from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.machine import ACCEPTING, LEAF, REJECTING, Edge, RewardMachine
from rewardmachines.core.traversal import exit_condition
from rewardmachines.learning.clauses import Clauses
from rewardmachines.learning.limits import Limits
from rewardmachines.learning.task import LearningTask, state_names
from rewardmachines.learning.tree import Run, TraceTree
from rewardmachines.traces import Outcome

ACCEPT: Final = -1
REJECT: Final = -2

Clause: TypeAlias = list[int]
Way: TypeAlias = tuple[int, int, int]
"""A callee's number, the literal that its edge does not fire, and the edge's target."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an edge may be: from an inner state to another, or to ACCEPT or REJECT."""

    source: int
    target: int
    number: int


class Encoding:
    """The clauses, and what the variables mean."""

    def __init__(self, task: LearningTask, tree: TraceTree, inner: int, limits: Limits | None = None) -> None:
        """Builds the clauses.

        Args:
            task: What is to be learned.
            tree: The traces of the task.
            inner: The number of states that are not terminal.
            limits: Of the search.

        Raises:
            BudgetExceeded: if a limit is reached.
        """
        self._limits = limits or Limits()
        self.task = task
        self.tree = tree
        self.inner = inner
        self.clauses = Clauses()
        self._count = 0
        self.callees = (LEAF, *task.callees)
        self.slots = list(self._possible_slots())
        self.slots_from: list[list[int]] = [[] for _ in range(inner)]
        for number, slot in enumerate(self.slots):
            self.slots_from[slot.source].append(number)
        self._structure()
        self._determinism()
        self._transitions()
        self._walks()

    def _check(self) -> None:
        """Called again and again, by every loop whose length depends on the task."""
        self._limits.check()
        self.clauses.settle()

    # -- variables

    def _new(self) -> int:
        self._count += 1
        return self._count

    def _many(self, count: int) -> list[int]:
        first = self._count + 1
        self._count += count
        return list(range(first, first + count))

    @property
    def variables(self) -> int:
        return self._count

    def _possible_slots(self) -> Iterator[Slot]:
        ends = (ACCEPT, REJECT) if self.task.has_dead_ends else (ACCEPT,)
        for source in range(self.inner):
            later = range(source + 1, self.inner) if self.task.options.acyclic else range(self.inner)
            for target in (*(t for t in later if t != source), *ends):
                for number in range(self.task.options.disjuncts):
                    self._check()
                    yield Slot(source, target, number)

    # -- the machine

    def _structure(self) -> None:
        properties = len(self.task.propositions)
        self.used = self._many(len(self.slots))
        self.call = [self._many(len(self.callees)) for _ in self.slots]
        self.positive = [self._many(properties) for _ in self.slots]
        self.negative = [self._many(properties) for _ in self.slots]
        self.described = self._count
        """The variables up to this one describe the machine; the others follow from them."""
        for slot in range(len(self.slots)):
            self._check()
            self._edge(slot)
        for number, (first, second) in enumerate(pairwise(self.slots)):
            if (first.source, first.target) == (second.source, second.target):
                self.clauses.append([-self.used[number + 1], self.used[number]])
        self._graph()

    def _edge(self, slot: int) -> None:
        used, call = self.used[slot], self.call[slot]
        add = self.clauses.append
        add([-used, *call])
        for one in call:
            add([-one, used])
        for one, other in combinations(call, 2):
            add([-one, -other])
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
            self.clauses.append([self.used[s] for s in self.slots_from[state]])
            if state:
                self.clauses.append([used for (_, target), used in self.between.items() if target == state])
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
                self.clauses.append([-self.between[i, j + 1], self.between[j, j + 1], *entered_lower])

    def _number_breadth_first(self) -> None:
        """The lowest state that enters a state is lower than it, and does not fall as the numbers rise."""
        for j in range(1, self.inner):
            self.clauses.append([self.between[i, j] for i in range(j)])
        for j in range(1, self.inner - 1):
            for i in range(j + 1):
                entered_lower = [self.between[h, j + 1] for h in range(i)]
                entered_lower += [self.between[h, j] for h in range(min(i + 1, j))]
                if i == j:
                    continue
                self.clauses.append([-self.between[i, j + 1], *entered_lower])

    # -- determinism, exact over all labels

    def _determinism(self) -> None:
        conditions = [self._exit_disjuncts(callee) for callee in self.callees]
        self._effective: dict[tuple[int, int], tuple[int, list[int], list[int]]] = {}
        most = max(map(len, conditions))
        for slot in range(len(self.slots)):
            for d in range(most):
                self._check()
                self._effective[slot, d] = self._effective_literals(slot, d, conditions)
        dead = {key: self._dead(*key, conditions) for key in self._effective}
        for state in range(self.inner):
            for one, other in combinations(self.slots_from[state], 2):
                same = self._same_edge(one, other)
                for d1 in range(most):
                    for d2 in range(most):
                        self._exclude((one, d1), (other, d2), same, dead)

    def _exit_disjuncts(self, callee: str) -> list[Conjunction]:
        if callee == LEAF:
            return [Conjunction()]
        called = self.task.callees[callee]
        return exit_condition(called, called.root, called[called.root].initial).ordered()

    def _effective_literals(
        self, slot: int, d: int, conditions: Sequence[Sequence[Conjunction]]
    ) -> tuple[int, list[int], list[int]]:
        """Whether the edge's callee has a `d`-th way to start, and the literals of edge and way together."""
        demanding = [m for m, ways in enumerate(conditions) if len(ways) > d]
        if len(demanding) == len(conditions) and all(not ways[d].propositions for ways in conditions):
            return self.used[slot], self.positive[slot], self.negative[slot]
        active = self.used[slot] if len(demanding) == len(conditions) else self._new()
        for m in demanding:
            self.clauses.append([-self.call[slot][m], active])
        positive, negative = list(self.positive[slot]), list(self.negative[slot])
        for p, proposition in enumerate(self.task.propositions):
            for own, attribute in ((positive, "required"), (negative, "forbidden")):
                adding = [self.call[slot][m] for m in demanding if proposition in getattr(conditions[m][d], attribute)]
                if adding:
                    own[p] = self._either([own[p], *adding])
        return active, positive, negative

    def _either(self, literals: list[int]) -> int:
        """A variable that can only be true if one of these is."""
        joined = self._new()
        self.clauses.append([-joined, *literals])
        return joined

    def _dead(self, slot: int, d: int, conditions: Sequence[Sequence[Conjunction]]) -> int | None:
        """A variable that can only be true if edge and way contradict each other; None if they cannot."""
        self._check()
        if all(len(ways) <= d or not ways[d].propositions for ways in conditions):
            return None
        reasons = []
        for m, ways in enumerate(conditions):
            if len(ways) > d:
                for p, proposition in enumerate(self.task.propositions):
                    for mine, theirs in ((self.negative, ways[d].required), (self.positive, ways[d].forbidden)):
                        if proposition in theirs:
                            reasons.append(self._all_of([self.call[slot][m], mine[slot][p]]))
        return self._either(reasons)

    def _all_of(self, literals: list[int]) -> int:
        """A variable that can only be true if all of these are."""
        joined = self._new()
        self.clauses.extend([-joined, literal] for literal in literals)
        return joined

    def _same_edge(self, one: int, other: int) -> int | None:
        """For two disjuncts between the same states: that they call the same machine, and so are one edge."""
        if self.slots[one].target != self.slots[other].target:
            return None
        same = self._new()
        for a, b in zip(self.call[one], self.call[other], strict=True):
            self.clauses.append([-same, -a, b])
        return same

    def _exclude(
        self, one: tuple[int, int], other: tuple[int, int], same: int | None, dead: dict[tuple[int, int], int | None]
    ) -> None:
        self._check()
        active1, positive1, negative1 = self._effective[one]
        active2, positive2, negative2 = self._effective[other]
        reasons = [reason for reason in (same, dead[one], dead[other]) if reason is not None]
        for p in range(len(self.task.propositions)):
            reasons.append(self._all_of([positive1[p], negative2[p]]))
            reasons.append(self._all_of([negative1[p], positive2[p]]))
        self.clauses.append([-active1, -active2, *reasons])

    # -- what edges do on the labels seen

    def _transitions(self) -> None:
        self.labels = [label for label in self.tree.labels if label in self.tree.firing]
        starting = [
            [m for m, callee in enumerate(self.callees) if self._can_start(callee, label)] for label in self.labels
        ]
        self.fires: list[list[dict[int, int]]] = []  # slot, label -> callee -> variable
        for slot in range(len(self.slots)):
            self.fires.append([self._fires(slot, label, starting[n]) for n, label in enumerate(self.labels)])
        self.moves: list[list[int]] = []  # state, label -> variable
        for state in range(self.inner):
            row = []
            for n in range(len(self.labels)):
                ways = [fires for slot in self.slots_from[state] for fires in self.fires[slot][n].values()]
                row.append(self._either(ways))
            self.moves.append(row)

    def _can_start(self, callee: str, label: Label) -> bool:
        if callee == LEAF:
            return bool(label) or self.task.options.negative_formulas
        return label in self.tree.starting[callee]

    def _fires(self, slot: int, label: Label, callees: Sequence[int]) -> dict[int, int]:
        self._check()
        satisfied = self._new()
        add = self.clauses.append
        violating = []
        for p, proposition in enumerate(self.task.propositions):
            literal = self.negative[slot][p] if proposition in label else self.positive[slot][p]
            violating.append(literal)
            add([-satisfied, -literal])
        add([satisfied, *violating])
        found = {}
        for m in callees:
            fires = found[m] = self._new()
            call = self.call[slot][m]
            add([-fires, call])
            add([-fires, satisfied])
            add([fires, -call, -satisfied])
        return found

    # -- where the traces lead

    def _walks(self) -> None:
        tree = self.tree
        self.at: dict[int, range] = {}
        self._terminal: dict[tuple[int, int], int] = {}
        for number, moment in enumerate(tree.moment):
            if number == moment:
                self.at[number] = range(self._count + 1, self._count + self.inner + 1)
                self._count += self.inner
        self.clauses.append([self.at[0][0]])
        ways = {label: self._ways(n) for n, label in enumerate(self.labels)}
        for number, node in enumerate(tree.nodes):
            if number and tree.moment[number] == number:
                self._check()
                before = tree.moment[node.parent]
                if node.label in ways:
                    self._step(before, number, ways[node.label])
                else:
                    self.clauses.extend([-a, b] for a, b in zip(self.at[before], self.at[number], strict=True))
                self._absorb(before, number)
        for number, node in enumerate(tree.nodes):
            if node.end is not None:
                self._check()
                self._end(number, node.end)

    def _ways(self, label: int) -> list[tuple[int, list[Way]]]:
        """For each state, the variable that a label moves it, and all that may then happen."""
        return [
            (
                self.moves[state][label],
                [
                    (m, -fires, self.slots[slot].target)
                    for slot in self.slots_from[state]
                    for m, fires in self.fires[slot][label].items()
                ],
            )
            for state in range(self.inner)
        ]

    def _step(self, before: int, after: int, ways: list[tuple[int, list[Way]]]) -> None:
        """The innermost loop: it writes to the pending clauses itself."""
        pending, there = self.clauses.pending, self.at[after]
        for here, stays, (moves, ways_out) in zip(self.at[before], there, ways, strict=True):
            pending += (-here, moves, stays, 0)
            for m, not_fires, target in ways_out:
                if m:
                    self._call(self.tree.runs[self.callees[m]][after], target, [-here, not_fires])
                elif target >= 0:
                    pending += (-here, not_fires, there[target], 0)
                else:
                    self._lead(after, target, [-here, not_fires])

    def _call(self, run: Run, target: int, unless: Clause) -> None:
        """A call that starts here leads to where it ends, on every branch."""
        if run.is_stuck:
            self.clauses.append(unless)
            return
        for node in run.rejects:
            self._lead(node, REJECT, unless)
        for node in run.returns:
            self._lead(node, target, unless)

    def _lead(self, node: int, target: int, unless: Clause) -> None:
        """The walk is in that state at the node, unless one of these holds."""
        if target >= 0:
            self.clauses.append([*unless, self.at[node][target]])
        elif self.task.options.prefix_knowledge:
            allowed = Outcome.GOAL if target == ACCEPT else Outcome.DEAD_END
            if self.tree.nodes[node].end is not allowed:
                self.clauses.append(unless)
        else:
            self.clauses.append([*unless, self._in_terminal(node, target)])

    def _in_terminal(self, node: int, target: int) -> int:
        moment = self.tree.moment[node]
        key = (moment, target)
        if key not in self._terminal:
            self._terminal[key] = self._new()
        return self._terminal[key]

    def _absorb(self, before: int, after: int) -> None:
        """Without knowledge of prefixes a walk may be over before the trace is."""
        if not self.task.options.prefix_knowledge:
            for target in (ACCEPT, REJECT):
                self.clauses.append([-self._in_terminal(before, target), self._in_terminal(after, target)])

    def _end(self, number: int, end: Outcome) -> None:
        """At the end of a trace the walk is in no state that would give another verdict."""
        moment = self.tree.moment[number]
        if end is not Outcome.INCOMPLETE:
            if moment != number and self.task.options.prefix_knowledge:
                self.clauses.append([])  # it ends with a label on which nothing can happen
            self.clauses.extend([-at] for at in self.at[moment])
        if not self.task.options.prefix_knowledge:
            for target, meant in ((ACCEPT, Outcome.GOAL), (REJECT, Outcome.DEAD_END)):
                if end is not meant:
                    self.clauses.append([-self._in_terminal(number, target)])

    # -- reading a model

    def machine(self, model: Iterable[int]) -> RewardMachine:
        true = {literal for literal in model if literal > 0}
        rejecting = self.task.has_dead_ends
        names = state_names(self.inner, rejecting=rejecting)
        edges = []
        for number, slot in enumerate(self.slots):
            if self.used[number] in true:
                callee = next(c for c, v in zip(self.callees, self.call[number], strict=True) if v in true)
                required, forbidden = (
                    frozenset(p for p, v in zip(self.task.propositions, some[number], strict=True) if v in true)
                    for some in (self.positive, self.negative)
                )
                formula = Formula(frozenset({Conjunction(required, forbidden)}))
                edges.append(Edge(names[slot.source], _name(slot.target, names), formula, callee))
        entered = {edge.target for edge in edges}
        states = tuple(n for n in names if n != REJECTING or n in entered)
        return RewardMachine(
            self.task.name, states, tuple(edges), names[0], frozenset({ACCEPTING}), frozenset({REJECTING} & set(states))
        )


def _name(target: int, names: Sequence[str]) -> str:
    return {ACCEPT: ACCEPTING, REJECT: REJECTING}.get(target) or names[target]
