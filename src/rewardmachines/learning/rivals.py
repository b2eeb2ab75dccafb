"""Rivals of a machine: machines that explain the same traces and give another verdict on some trace.

A rival is a machine of a given size together with a trace of a given length on which it and the first machine differ,
both unknown to the solver: to the clauses of the machine come a choice of a label for each step of that trace, and the
walks of both along it. Walks are forced forwards, as those of the traces are, and equal ends are excluded. Lengths are
tried from short to long, so neither of the two has ended before the last label.

Two automata that differ at all differ on a trace shorter than their states together. So a solver that refutes all
lengths up to there proves that there is no rival of this size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.sat import ACCEPT, REJECT, SatEncoding
from rewardmachines.learning.solvers import Question, Solvers, Tick
from rewardmachines.learning.task import LearningTask
from rewardmachines.learning.tree import CalleeWalk, TraceTree


@dataclass(frozen=True)
class Paths:
    """The behaviour of a hierarchy on the labels of an alphabet, without calls: numbered states, 0 the initial one."""

    rows: tuple[tuple[tuple[int, Verdict], ...], ...]
    """By state and label: the next state, and the verdict there. The row of a state in which traces end is empty."""

    @staticmethod
    def of(hierarchy: Hierarchy, alphabet: Sequence[Label], limits: SearchLimits) -> Paths:
        """The paths of a hierarchy.

        Raises:
            BudgetExceeded: if a limit is reached.
        """
        walk = CalleeWalk(hierarchy)
        rows: list[tuple[tuple[int, Verdict], ...]] = []
        is_inner = [True]
        while len(rows) < len(is_inner):
            row = []
            for label in limits.checked(alphabet if is_inner[len(rows)] else ()):
                number, verdict = walk.after(len(rows), label)
                if number == len(is_inner):
                    is_inner.append(verdict is Verdict.NEITHER)
                row.append((number, verdict))
            rows.append(tuple(row))
        return Paths(tuple(rows))

    @property
    def size(self) -> int:
        """The number of states in which a trace goes on."""
        return sum(map(bool, self.rows))


class _Moment:
    """The variables of a rival's state between two labels of the separating trace."""

    def __init__(self, encoding: SatEncoding, callees: Sequence[Paths]) -> None:
        many = encoding.builder.many
        self.at = many(encoding.form.inner)
        """By state: no machine is called."""
        self.inside = [many(len(callee.rows)) for callee in callees]
        """By callee and its state."""
        self.to = dict(zip((*range(encoding.form.inner), ACCEPT, REJECT), many(encoding.form.inner + 2), strict=True))
        """By state: the target of the call."""


class _SeparatingTrace:
    """The clauses of a trace of a given length on which the machine of an encoding differs from a known one."""

    def __init__(
        self, encoding: SatEncoding, first: Paths, callees: Sequence[Paths], alphabet: Sequence[Label], length: int
    ) -> None:
        self._encoding = encoding
        self._builder = encoding.builder
        self._clauses = encoding.clauses
        self._first = first
        self._callees = callees
        self._labels = [(label, _number(encoding, label)) for label in alphabet]
        self._is_last = False
        self._ends = {verdict: (self._builder.new(), self._builder.new()) for verdict in Verdict}
        self._clauses.extend([-mine, -its] for mine, its in self._ends.values())
        self._add(length)

    def _add(self, length: int) -> None:
        state, moment = self._builder.many(len(self._first.rows)), _Moment(self._encoding, self._callees)
        self._clauses.append([state[0]])
        self._clauses.append([moment.at[0]])
        for step in range(length):
            self._is_last = step + 1 == length
            chosen = self._builder.many(len(self._labels))
            self._clauses.append(chosen)
            next_state = self._builder.many(len(self._first.rows))
            next_moment = _Moment(self._encoding, self._callees)
            for letter, variable in enumerate(chosen):
                self._builder.check()
                self._move_first(state, next_state, letter, variable)
                self._move_rival(moment, next_moment, letter, variable)
                self._move_callees(moment, next_moment, letter, variable)
            state, moment = next_state, next_moment
        mine, its = self._ends[Verdict.NEITHER]
        self._clauses.extend([-variable, mine] for variable in state)
        self._clauses.extend([-variable, its] for part in (moment.at, *moment.inside) for variable in part)

    def _end(self, side: int, verdict: Verdict, unless: list[int]) -> None:
        """One of the two machines ends there, which only the last label may bring about."""
        self._clauses.append([*unless, self._ends[verdict][side]] if self._is_last else unless)

    def _move_first(self, before: Sequence[int], after: Sequence[int], letter: int, chosen: int) -> None:
        for state, row in enumerate(self._first.rows):
            if row:
                following, verdict = row[letter]
                unless = [-before[state], -chosen]
                if verdict is Verdict.NEITHER:
                    self._clauses.append([*unless, after[following]])
                else:
                    self._end(0, verdict, unless)

    def _move_rival(self, before: _Moment, after: _Moment, letter: int, chosen: int) -> None:
        form, number = self._encoding.form, self._labels[letter][1]
        for state, here in enumerate(before.at):
            unless = [-here, -chosen]
            if number is None:
                self._clauses.append([*unless, after.at[state]])
                continue
            self._clauses.append([*unless, self._encoding.moves[state][number], after.at[state]])
            for slot in form.slots_from[state]:
                for callee, fires in self._encoding.fires[slot][number].items():
                    self._start(after, callee, form.slots[slot].target, letter, [*unless, -fires])

    def _start(self, after: _Moment, callee: int, target: int, letter: int, unless: list[int]) -> None:
        """An edge fires; callee 0 is the leaf, which returns at once."""
        following, verdict = self._callees[callee - 1].rows[0][letter] if callee else (0, Verdict.ACCEPT)
        if verdict is Verdict.NEITHER:
            self._clauses.append([*unless, after.inside[callee - 1][following]])
            self._clauses.append([*unless, after.to[target]])
        elif verdict is Verdict.ACCEPT:
            self._lead(after, target, unless)
        else:
            self._end(1, verdict, unless)

    def _lead(self, after: _Moment, target: int, unless: list[int]) -> None:
        if target >= 0:
            self._clauses.append([*unless, after.at[target]])
        else:
            self._end(1, Verdict.ACCEPT if target == ACCEPT else Verdict.REJECT, unless)

    def _move_callees(self, before: _Moment, after: _Moment, letter: int, chosen: int) -> None:
        for callee, variables in zip(self._callees, zip(before.inside, after.inside, strict=True), strict=True):
            for here, row in zip(variables[0], callee.rows, strict=True):
                if row:
                    self._go_on(before, after, row[letter], variables[1], [-here, -chosen])

    def _go_on(
        self, before: _Moment, after: _Moment, move: tuple[int, Verdict], inside: Sequence[int], unless: list[int]
    ) -> None:
        """A call goes on, and returns to its target or rejects if that is its end."""
        following, verdict = move
        if verdict is Verdict.REJECT:
            self._end(1, verdict, unless)
            return
        if verdict is Verdict.NEITHER:
            self._clauses.append([*unless, inside[following]])
        for target, is_target in before.to.items():
            if verdict is Verdict.NEITHER:
                self._clauses.append([*unless, -is_target, after.to[target]])
            else:
                self._lead(after, target, [*unless, -is_target])


def _number(encoding: SatEncoding, label: Label) -> int | None:
    """The number of a label among those on which an edge may fire."""
    return encoding.labels.index(label) if label in encoding.labels else None


@dataclass(frozen=True)
class RivalSearch:
    """The search for rivals over an alphabet."""

    solvers: Solvers
    alphabet: tuple[Label, ...]
    limits: SearchLimits
    tick: Callable[[int, int], Tick]
    """For a size and a length: called again and again while the solver works."""

    def longest(self, task: LearningTask, first: Hierarchy, states: int) -> int:
        """The length of a trace that must separate a machine from another of that size, if they differ at all."""
        inner = states - 1
        inside = sum(callee.size for callee in self._callees(task)) * (inner + 2)
        return Paths.of(first, self.alphabet, self.limits).size + inner + inside - 1

    def find(self, task: LearningTask, first: Hierarchy, states: int, length: int) -> Hierarchy | None:
        """A machine of that size that explains the traces, and differs from the first on a trace of that length.

        On shorter traces, the two are known to agree.

        Args:
            task: The traces, and the space of machines.
            first: The first machine.
            states: The size of the rival, the rejecting state not counted.
            length: The length of the separating trace.

        Raises:
            BudgetExceeded: if a limit is reached.
        """
        tree = TraceTree(task, self.limits, self.alphabet)
        encoding = SatEncoding(task, tree, states - 1, self.limits)
        known = Paths.of(first, self.alphabet, self.limits)
        _SeparatingTrace(encoding, known, self._callees(task), self.alphabet, length)
        phases = [-variable for variable in range(1, encoding.described + 1)]
        question = Question(encoding.clauses, phases, variables=encoding.described)
        tick = self.tick(states, length)
        answer = self.solvers.quick(question, self.limits, tick)
        model = self.solvers.decide(question, self.limits, tick) if answer is None else answer.model
        return None if model is None else task.hierarchy(encoding.machine(model))

    def _callees(self, task: LearningTask) -> list[Paths]:
        return [Paths.of(callee, self.alphabet, self.limits) for callee in task.callees.values()]
