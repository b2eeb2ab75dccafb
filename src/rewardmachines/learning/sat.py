"""A learning task of a given size as clauses: satisfiable if and only if there is a machine of that size.

Formulas are judged on the distinct labels, not on every step. Walks are forced forwards only, and ends are described by
what they must not be, so that nothing need be said about states that a walk is not in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rewardmachines.core.formula import Label
from rewardmachines.core.machine import LEAF, RewardMachine
from rewardmachines.learning.clauses import ClauseBuilder
from rewardmachines.learning.limits import Limits
from rewardmachines.learning.sat_determinism import add_determinism
from rewardmachines.learning.sat_machine import ACCEPT, REJECT, MachineVariables
from rewardmachines.learning.task import LearningTask
from rewardmachines.learning.tree import Run, TraceTree
from rewardmachines.traces import Outcome

Clause: TypeAlias = list[int]
Way: TypeAlias = tuple[int, int, int]
"""A callee's number, the literal that its edge does not fire, and the edge's target."""


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
        self.task = task
        self.tree = tree
        self._builder = ClauseBuilder(limits or Limits())
        self.clauses = self._builder.clauses
        self._machine = MachineVariables(task, inner, self._builder)
        self.used = self._machine.used
        self.positive, self.negative = self._machine.positive, self._machine.negative
        self.described = self._machine.described
        """The variables up to this one describe the machine; the others follow from them."""
        add_determinism(self._machine, self._builder)
        self._transitions()
        self._walks()

    @property
    def variables(self) -> int:
        return self._builder.variables

    def machine(self, model: Iterable[int]) -> RewardMachine:
        """The machine that a solution describes."""
        return self._machine.machine(model)

    # -- what edges do on the labels seen

    def _transitions(self) -> None:
        self.labels = [label for label in self.tree.labels if label in self.tree.firing]
        starting = [
            [m for m, callee in enumerate(self._machine.callees) if self._can_start(callee, label)]
            for label in self.labels
        ]
        self.fires: list[list[dict[int, int]]] = []  # slot, label -> callee -> variable
        for slot in range(len(self._machine.slots)):
            self.fires.append([self._fires(slot, label, starting[n]) for n, label in enumerate(self.labels)])
        self.moves: list[list[int]] = []  # state, label -> variable
        for state in range(self._machine.inner):
            row = []
            for n in range(len(self.labels)):
                ways = [fires for slot in self._machine.slots_from[state] for fires in self.fires[slot][n].values()]
                row.append(self._builder.either(ways))
            self.moves.append(row)

    def _can_start(self, callee: str, label: Label) -> bool:
        if callee == LEAF:
            return bool(label) or self.task.options.negative_formulas
        return label in self.tree.starting[callee]

    def _fires(self, slot: int, label: Label, callees: Sequence[int]) -> dict[int, int]:
        self._builder.check()
        satisfied = self._builder.new()
        add = self._builder.clauses.append
        violating = []
        for p, proposition in enumerate(self.task.propositions):
            literal = self._machine.negative[slot][p] if proposition in label else self._machine.positive[slot][p]
            violating.append(literal)
            add([-satisfied, -literal])
        add([satisfied, *violating])
        by_callee = {}
        for m in callees:
            fires = by_callee[m] = self._builder.new()
            call = self._machine.call[slot][m]
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
                self.at[number] = self._builder.many(self._machine.inner)
        self._builder.clauses.append([self.at[0][0]])
        ways = {label: self._ways(n) for n, label in enumerate(self.labels)}
        for number, node in enumerate(tree.nodes):
            if number and tree.moment[number] == number:
                self._builder.check()
                before = tree.moment[node.parent]
                if node.label in ways:
                    self._step(before, number, ways[node.label])
                else:
                    self._builder.clauses.extend([-a, b] for a, b in zip(self.at[before], self.at[number], strict=True))
                self._absorb(before, number)
        for number, node in enumerate(tree.nodes):
            if node.end is not None:
                self._builder.check()
                self._end(number, node.end)

    def _ways(self, label: int) -> list[tuple[int, list[Way]]]:
        """For each state, the variable that a label moves it, and all that may then happen."""
        return [
            (
                self.moves[state][label],
                [
                    (m, -fires, self._machine.slots[slot].target)
                    for slot in self._machine.slots_from[state]
                    for m, fires in self.fires[slot][label].items()
                ],
            )
            for state in range(self._machine.inner)
        ]

    def _step(self, before: int, after: int, ways: list[tuple[int, list[Way]]]) -> None:
        """The innermost loop: it writes to the pending clauses itself."""
        pending, there = self._builder.clauses.pending, self.at[after]
        for here, stays, (moves, ways_out) in zip(self.at[before], there, ways, strict=True):
            pending += (-here, moves, stays, 0)
            for m, not_fires, target in ways_out:
                if m:
                    self._call(self.tree.runs[self._machine.callees[m]][after], target, [-here, not_fires])
                elif target >= 0:
                    pending += (-here, not_fires, there[target], 0)
                else:
                    self._lead(after, target, [-here, not_fires])

    def _call(self, run: Run, target: int, unless: Clause) -> None:
        """A call that starts here leads to where it ends, on every branch."""
        if run.is_stuck:
            self._builder.clauses.append(unless)
            return
        for node in run.rejects:
            self._lead(node, REJECT, unless)
        for node in run.returns:
            self._lead(node, target, unless)

    def _lead(self, node: int, target: int, unless: Clause) -> None:
        """The walk is in that state at the node, unless one of these holds."""
        if target >= 0:
            self._builder.clauses.append([*unless, self.at[node][target]])
        elif self.task.options.prefix_knowledge:
            allowed = Outcome.GOAL if target == ACCEPT else Outcome.DEAD_END
            if self.tree.nodes[node].end is not allowed:
                self._builder.clauses.append(unless)
        else:
            self._builder.clauses.append([*unless, self._in_terminal(node, target)])

    def _in_terminal(self, node: int, target: int) -> int:
        moment = self.tree.moment[node]
        key = (moment, target)
        if key not in self._terminal:
            self._terminal[key] = self._builder.new()
        return self._terminal[key]

    def _absorb(self, before: int, after: int) -> None:
        """Keeps a walk in the terminal state that it has reached, perhaps before the end of the trace."""
        if not self.task.options.prefix_knowledge:
            for target in (ACCEPT, REJECT):
                self._builder.clauses.append([-self._in_terminal(before, target), self._in_terminal(after, target)])

    def _end(self, number: int, end: Outcome) -> None:
        """Demands that the walk is, at the end of a trace, in no state that gives another verdict."""
        moment = self.tree.moment[number]
        if end is not Outcome.INCOMPLETE:
            if moment != number and self.task.options.prefix_knowledge:
                self._builder.clauses.append([])  # it ends with a label on which nothing can happen
            self._builder.clauses.extend([-at] for at in self.at[moment])
        if not self.task.options.prefix_knowledge:
            for target, meant in ((ACCEPT, Outcome.GOAL), (REJECT, Outcome.DEAD_END)):
                if end is not meant:
                    self._builder.clauses.append([-self._in_terminal(number, target)])
