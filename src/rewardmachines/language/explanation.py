"""Machines in words, and as task expressions where they are ones.

A machine without cycles is taken apart at the states through which all ways to the goal lead; between two of them are
alternatives, or steps in any order. The expression is found by looking, and certified by compiling it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Final

from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction, Formula, Label, quote
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, RewardMachine
from rewardmachines.core.traversal import exit_condition
from rewardmachines.language.tasks import compile_task, forbidden_by

MAX_LENGTH: Final = 2_000
"""The longest expression that is looked for: longer ones explain nothing."""
_MAX_ANY_ORDER: Final = 6


@dataclass(frozen=True)
class TaskExpression:
    """A hierarchy as a task expression, with the tasks that it uses and what is to be avoided."""

    expression: str
    tasks: dict[str, str]

    def compile(self, name: str, propositions: Iterable[str]) -> Hierarchy:
        """The hierarchy of the expression."""
        return compile_task(self.expression, self.tasks, name=name, propositions=propositions)

    def __str__(self) -> str:
        used = [f"{quote(name)}: {text}" for name, text in self.tasks.items()]
        return "\n".join([self.expression, *(["where", *(f"  {line}" for line in used)] if used else [])])


def explain(hierarchy: Hierarchy) -> str:
    """A hierarchy in words: what moves each machine, and the task expression that it is, if it is one.

    Args:
        hierarchy: The hierarchy.

    >>> from rewardmachines import compile_ltlf, explain
    >>> print(explain(compile_ltlf("F(key & X[!] F door) & G !lava")))
    task
      u0, the beginning: on key & !lava to u1; on lava it fails; any other label changes nothing
      u1: on door & !lava it is done; on lava it fails; any other label changes nothing
    as a task expression: key ; door avoid lava
    """
    lines = [line for machine in hierarchy.reachable() for line in _words(machine)]
    found = task_expression(hierarchy)
    if found is None:
        return "\n".join([*lines, "no task expression is known for it"])
    return "\n".join([*lines, f"as a task expression: {found}"])


def _words(machine: RewardMachine) -> Iterator[str]:
    yield quote(machine.name)
    for state in machine.states:
        if machine.is_terminal(state):
            continue
        moves = [
            _move(machine, edge) for edge in machine.outgoing(state) if edge.target != state or not edge.calls_leaf
        ]
        beginning = ", the beginning" if state == machine.initial else ""
        rest = "any other label changes nothing" if moves else "nothing leads out of it"
        yield f"  {state}{beginning}: {'; '.join([*moves, rest])}"


def _move(machine: RewardMachine, edge: Edge) -> str:
    if edge.target in machine.accepting:
        then = "it is done"
    else:
        then = "it fails" if edge.target in machine.rejecting else f"to {edge.target}"
    if edge.calls_leaf:
        return f"on {edge.formula} {then}"
    context = "" if edge.formula.is_true else f", begun on {edge.formula}"
    return f"after {quote(edge.callee)}{context}, {then}"


def task_expression(hierarchy: Hierarchy) -> TaskExpression | None:
    """A task expression for a hierarchy, with the same verdict on every trace; None if none is found.

    Args:
        hierarchy: The hierarchy.

    >>> from rewardmachines import compile_ltlf
    >>> str(task_expression(compile_ltlf("F a & F b")))
    '[a & b] | (a & b)'
    """
    for is_loose in (True, False):
        try:
            parts = [_MachineText(hierarchy, machine, is_loose=is_loose).text() for machine in hierarchy.reachable()]
        except _NoExpressionError:
            continue
        root, *others = parts
        names = [machine.name for machine in hierarchy.reachable()][1:]
        found = TaskExpression(root, dict(zip(names, others, strict=True)))
        try:
            if equivalent(found.compile(hierarchy.root, hierarchy.propositions), hierarchy):
                return found
        except RewardMachineError:  # it could not be read, or is too large to be compared
            continue
    return None


class _NoExpressionError(Exception):
    """The machine is not of a form for which an expression is known."""


@dataclass(frozen=True, slots=True)
class _Letter:
    """A way out of a state: what is to be done, and where it leads."""

    text: str
    target: str


class _MachineText:
    """One machine as a text.

    Args:
        hierarchy: The hierarchy.
        machine: The machine.
        is_loose: Whether conditions that keep alternatives apart are left out: ties do the same.
    """

    def __init__(self, hierarchy: Hierarchy, machine: RewardMachine, *, is_loose: bool) -> None:
        self._hierarchy = hierarchy
        self._machine = machine
        self._is_loose = is_loose
        self._avoid = frozenset(forbidden_by(machine))
        self._end = ""
        """Stands for all accepting states."""
        self._length = 0
        self._check_failures()

    def text(self) -> str:
        avoid = f" avoid {', '.join(map(quote, sorted(self._avoid)))}" if self._avoid else ""
        return self._between(self._machine.initial, self._end) + avoid

    def _check_failures(self) -> None:
        """Edges that fail must fail on what is avoided, and nothing else: this is all that the language can say."""
        for edge in self._machine.edges:
            if edge.target in self._machine.rejecting and (
                not edge.calls_leaf or any(not d.required & self._avoid for d in edge.formula.disjuncts)
            ):
                raise _NoExpressionError

    @cached_property
    def _ways(self) -> dict[str, list[Edge]]:
        """The edges out of each state that lead on to other ones."""
        return {
            state: [e for e in self._machine.outgoing(state) if e.target not in {state, *self._machine.rejecting}]
            for state in self._machine.states
        }

    def _target(self, edge: Edge) -> str:
        return self._end if edge.target in self._machine.accepting else edge.target

    @cached_property
    def _order(self) -> list[str]:
        """The states from the goal backwards, each after those that follow it."""
        order: dict[str, None] = {self._end: None}
        path: list[tuple[str, Iterator[str]]] = []
        open_states: set[str] = set()

        def enter(state: str) -> None:
            open_states.add(state)
            path.append((state, iter([self._target(edge) for edge in self._ways[state]])))

        enter(self._machine.initial)
        while path:
            state, rest = path[-1]
            following = next((to for to in rest if to not in order), None)
            if following is None:
                path.pop()
                order[state] = None
            elif following in open_states:
                raise _NoExpressionError  # a cycle
            else:
                enter(following)
        return list(order)

    @cached_property
    def _joins(self) -> dict[str, str]:
        """For each state, the first one through which all ways from it lead."""
        rank = {state: i for i, state in enumerate(self._order)}
        joins: dict[str, str] = {}
        for state in self._order[1:]:
            targets = {self._target(edge) for edge in self._ways[state]}
            if not targets:
                raise _NoExpressionError  # a state without a way to the goal
            while len(targets) > 1:
                last = max(targets, key=rank.__getitem__)
                targets = (targets - {last}) | {joins[last]}
            (joins[state],) = targets
        return joins

    def _between(self, state: str, end: str) -> str:
        """What is to be done from one state to another one through which all ways lead."""
        if not self._order:
            raise _NoExpressionError
        steps: list[str] = []
        while state != end:
            following = self._joins[state]
            steps.append(self._region(state, following))
            state = following
        return " ; ".join(steps)

    def _region(self, state: str, end: str) -> str:
        """The alternatives between two states, in parentheses where there are several."""
        letters = self._letters(state)
        self._length += sum(len(letter.text) for letter in letters)
        if self._length > MAX_LENGTH:
            raise _NoExpressionError
        sides: list[str] = []
        if (group := self._any_order(letters, end)) is not None:
            sides.append(f"({' & '.join(letter.text for letter in group)})")
            letters = [letter for letter in letters if letter not in group]
        for letter in letters:
            rest = "" if letter.target == end else self._between(letter.target, end)
            sides.append(f"({letter.text} ; {rest})" if rest else letter.text)
        if len(sides) == 1:
            is_alone = group is not None and self._is_whole(state, end)
            return sides[0][1:-1] if is_alone else sides[0]
        text = " | ".join(sorted(sides, key=lambda side: (side[0] == "(", side)))
        return text if self._is_whole(state, end) else f"({text})"

    def _is_whole(self, state: str, end: str) -> bool:
        return state == self._machine.initial and end == self._end

    def _any_order(self, letters: list[_Letter], end: str) -> list[_Letter] | None:
        """The letters that can be done in any order up to the end, if there are at least two."""
        group = [letter for letter in letters if letter.target != end]
        if not 2 <= len(group) <= _MAX_ANY_ORDER or len({letter.text for letter in group}) != len(group):
            return None
        texts = [letter.text for letter in group]
        for order in permutations(texts) if len(texts) < 4 else (texts, texts[::-1], texts[1:] + texts[:1]):
            state = next(letter.target for letter in group if letter.text == order[0])
            for text in order[1:]:
                following = {letter.target for letter in self._letters(state) if letter.text == text}
                if len(following) != 1:
                    return None
                (state,) = following
            if state != end:
                return None
        return group

    def _letters(self, state: str) -> list[_Letter]:
        if state == self._end:
            return []
        starts = frozenset().union(*(self._mentioned(edge) for edge in self._ways[state]))
        letters: list[_Letter] = []
        for edge in self._ways[state]:
            if not edge.calls_leaf:
                if not self._is_loose and not edge.formula.is_true:
                    raise _NoExpressionError
                letters.append(_Letter(quote(edge.callee), self._target(edge)))
                continue
            safe = [d for d in edge.formula.disjuncts if not d.required & self._avoid]
            names = [self._name(d, starts) for d in safe]
            if names and all(name is not None for name in names):
                letters += [_Letter(quote(str(name)), self._target(edge)) for name in sorted(map(str, names))]
            else:
                kept = Formula(frozenset(Conjunction(d.required, d.forbidden - self._avoid) for d in safe))
                letters.append(_Letter(f"[{kept}]", self._target(edge)))
        return letters

    def _mentioned(self, edge: Edge) -> Label:
        """The propositions that start a way out of a state."""
        if edge.calls_leaf:
            return frozenset().union(*(disjunct.required for disjunct in edge.formula.disjuncts))
        start = self._hierarchy[edge.callee].initial
        return exit_condition(self._hierarchy, edge.callee, start).propositions

    def _name(self, disjunct: Conjunction, starts: Label) -> str | None:
        """The only proposition that a condition requires, if what it forbids needs no words."""
        needs_no_words = self._avoid | (starts if self._is_loose else frozenset())
        if len(disjunct.required) != 1 or not disjunct.forbidden <= needs_no_words:
            return None
        return next(iter(disjunct.required))
