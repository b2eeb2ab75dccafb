"""A learning task of a given size as clauses: satisfiable if and only if there is a machine of that size.

Formulas are judged on the distinct labels, not on every step. Walks are forced forwards only, and ends are described by
what they must not be, so that nothing need be said about states that a walk is not in.

An *edge slot* is a pair of states and the number of a disjunct: there may be an edge, with a callee and literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final, TypeAlias

from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.machine import ACCEPTING, LEAF, REJECTING, Edge, RewardMachine
from rewardmachines.core.traversal import exit_condition
from rewardmachines.learning.clauses import ClauseBuilder
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.task import LearningTask, state_names
from rewardmachines.learning.tree import CallBranch, TraceTree
from rewardmachines.traces import Outcome

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


Clause: TypeAlias = list[int]
Way: TypeAlias = tuple[int, int, int]
"""A callee's number, the literal that its edge does not fire, and the edge's target."""


class SatEncoding:
    """The clauses, and what the variables mean."""

    def __init__(self, task: LearningTask, tree: TraceTree, inner: int, limits: SearchLimits | None = None) -> None:
        """Builds the clauses.

        Args:
            task: The learning task.
            tree: The traces of the task.
            inner: The number of states that are not terminal.
            limits: The limits of the search.

        Raises:
            BudgetExceeded: if a limit is reached.
        """
        self.task = task
        self.tree = tree
        self.builder = ClauseBuilder(limits or SearchLimits())
        self.clauses = self.builder.clauses
        self.form = MachineVariables(task, inner, self.builder)
        self.used = self.form.used
        self.positive, self.negative = self.form.positive, self.form.negative
        self.described = self.form.described
        """The variables up to this one describe the machine; the others follow from them."""
        add_determinism(self.form, self.builder)
        self._transitions()
        self._walks()

    @property
    def variables(self) -> int:
        return self.builder.variables

    def machine(self, model: Iterable[int]) -> RewardMachine:
        """The machine that a solution describes."""
        return self.form.machine(model)

    # -- what edges do on the labels seen

    def _transitions(self) -> None:
        self.labels = [label for label in self.tree.labels if label in self.tree.firing]
        starting = [
            [m for m, callee in enumerate(self.form.callees) if self._can_start(callee, label)] for label in self.labels
        ]
        self.fires: list[list[dict[int, int]]] = []  # slot, label -> callee -> variable
        for slot in range(len(self.form.slots)):
            self.fires.append([self._fires(slot, label, starting[n]) for n, label in enumerate(self.labels)])
        self.moves: list[list[int]] = []  # state, label -> variable
        for state in range(self.form.inner):
            row = []
            for n in range(len(self.labels)):
                ways = [fires for slot in self.form.slots_from[state] for fires in self.fires[slot][n].values()]
                row.append(self.builder.either(ways))
            self.moves.append(row)

    def _can_start(self, callee: str, label: Label) -> bool:
        if callee == LEAF:
            return bool(label) or self.task.options.negative_formulas
        return label in self.tree.starting[callee]

    def _fires(self, slot: int, label: Label, callees: Sequence[int]) -> dict[int, int]:
        self.builder.check()
        satisfied = self.builder.new()
        add = self.builder.clauses.append
        violating = []
        for p, proposition in enumerate(self.task.propositions):
            literal = self.form.negative[slot][p] if proposition in label else self.form.positive[slot][p]
            violating.append(literal)
            add([-satisfied, -literal])
        add([satisfied, *violating])
        by_callee = {}
        for m in callees:
            fires = by_callee[m] = self.builder.new()
            call = self.form.call[slot][m]
            add([-fires, call])
            add([-fires, satisfied])
            add([fires, -call, -satisfied])
        return by_callee

    # -- where the traces lead

    def _walks(self) -> None:
        tree = self.tree
        self.at: dict[int, range] = {}
        self._terminal: dict[tuple[int, int], int] = {}
        for number, moment in enumerate(tree.moment):
            if number == moment:
                self.at[number] = self.builder.many(self.form.inner)
        self.builder.clauses.append([self.at[0][0]])
        ways = {label: self._ways(n) for n, label in enumerate(self.labels)}
        for number, node in enumerate(tree.nodes):
            if number and tree.moment[number] == number:
                self.builder.check()
                before = tree.moment[node.parent]
                if node.label in ways:
                    self._step(before, number, ways[node.label])
                else:
                    self.builder.clauses.extend([-a, b] for a, b in zip(self.at[before], self.at[number], strict=True))
                self._absorb(before, number)
        for number, node in enumerate(tree.nodes):
            if node.end is not None:
                self.builder.check()
                self._end(number, node.end)

    def _ways(self, label: int) -> list[tuple[int, list[Way]]]:
        """For each state, the variable that a label moves it, and all that may then happen."""
        return [
            (
                self.moves[state][label],
                [
                    (m, -fires, self.form.slots[slot].target)
                    for slot in self.form.slots_from[state]
                    for m, fires in self.fires[slot][label].items()
                ],
            )
            for state in range(self.form.inner)
        ]

    def _step(self, before: int, after: int, ways: list[tuple[int, list[Way]]]) -> None:
        """The innermost loop: it writes to the pending clauses itself."""
        pending, there = self.builder.clauses.pending, self.at[after]
        for here, stays, (moves, ways_out) in zip(self.at[before], there, ways, strict=True):
            pending += (-here, moves, stays, 0)
            for m, not_fires, target in ways_out:
                if m:
                    self._call(self.tree.runs[self.form.callees[m]][after], target, [-here, not_fires])
                elif target >= 0:
                    pending += (-here, not_fires, there[target], 0)
                else:
                    self._lead(after, target, [-here, not_fires])

    def _call(self, run: CallBranch, target: int, unless: Clause) -> None:
        """A call that starts here leads to where it ends, on every branch."""
        if run.stuck:
            self.builder.clauses.append(unless)
            return
        for node in run.rejects:
            self._lead(node, REJECT, unless)
        for node in run.returns:
            self._lead(node, target, unless)

    def _lead(self, node: int, target: int, unless: Clause) -> None:
        """The walk is in that state at the node, unless one of these holds."""
        if target >= 0:
            self.builder.clauses.append([*unless, self.at[node][target]])
        elif self.task.options.prefix_knowledge:
            allowed = Outcome.GOAL if target == ACCEPT else Outcome.DEAD_END
            if self.tree.nodes[node].end is not allowed:
                self.builder.clauses.append(unless)
        else:
            self.builder.clauses.append([*unless, self._in_terminal(node, target)])

    def _in_terminal(self, node: int, target: int) -> int:
        moment = self.tree.moment[node]
        key = (moment, target)
        if key not in self._terminal:
            self._terminal[key] = self.builder.new()
        return self._terminal[key]

    def _absorb(self, before: int, after: int) -> None:
        """Keeps a walk in the terminal state that it has reached, perhaps before the end of the trace."""
        if not self.task.options.prefix_knowledge:
            for target in (ACCEPT, REJECT):
                self.builder.clauses.append([-self._in_terminal(before, target), self._in_terminal(after, target)])

    def _end(self, number: int, end: Outcome) -> None:
        """Demands that the walk is, at the end of a trace, in no state that gives another verdict."""
        moment = self.tree.moment[number]
        if end is not Outcome.INCOMPLETE:
            if moment != number and self.task.options.prefix_knowledge:
                self.builder.clauses.append([])  # it ends with a label on which nothing can happen
            self.builder.clauses.extend([-at] for at in self.at[moment])
        if not self.task.options.prefix_knowledge:
            for target, meant in ((ACCEPT, Outcome.GOAL), (REJECT, Outcome.DEAD_END)):
                if end is not meant:
                    self.builder.clauses.append([-self._in_terminal(number, target)])
