"""Deterministic automata of finite traces, as other tools write them, and the reward machines that they become.

An automaton says of every trace whether it is accepted, and goes on; a machine accepts or rejects once and for all.
Three readings lead from one to the other: accepting as soon as the trace so far is accepted (`first`), accepting once
every continuation is (`decided`), and judging when a proposition says that the trace has ended (`end`). A label for
which a state has no transition is rejected, and so is a trace that no continuation can save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem, UnknownPropositionError
from rewardmachines.core.formula import Formula, conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import EMPTY, EVERY, LabelSet, LabelSets, with_label_sets
from rewardmachines.core.machine import ACCEPTING, REJECTING, Edge, machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.traversal import show_label

READINGS: Final = ("first", "decided")

Node: TypeAlias = tuple[int, bool]
"""A state, and whether the trace up to it is accepted."""


@dataclass(frozen=True, slots=True)
class AutomatonTransition:
    """A transition, and the line of the text where it stands."""

    target: int
    formula: Formula
    accepts: bool
    """Whether a trace that ends with it is accepted."""
    line: int


@dataclass(frozen=True, slots=True)
class FiniteAutomaton:
    """A deterministic automaton of finite traces."""

    name: str
    propositions: tuple[str, ...]
    states: tuple[str, ...]
    """The names of the states, which are numbers elsewhere."""
    initial: int
    accepts_empty: bool
    """Whether the empty trace is accepted."""
    transitions: tuple[tuple[AutomatonTransition, ...], ...]
    """The transitions out of each state."""
    format: str
    """The format of the text, which messages begin with."""


def machine_of(automaton: FiniteAutomaton, accept: str = "first", end: str | None = None) -> Hierarchy:
    """The smallest machine with the verdicts of an automaton.

    Args:
        automaton: The automaton.
        accept: When to accept: "first" or "decided".
        end: The proposition that says that the trace has ended; the label with it is not part of the trace.

    Raises:
        RewardMachineError: The automaton is not deterministic, or the machine would accept at once or never.
    """
    if accept not in READINGS:
        raise RewardMachineError(f"accept is one of {', '.join(map(repr, READINGS))}, not {accept!r}")
    if end is not None and end in automaton.propositions:
        raise UnknownPropositionError(f"end: '{end}' is a proposition of the automaton itself")
    propositions = (*automaton.propositions, *(() if end is None else (end,)))
    empty = Hierarchy("empty", (machine("empty", []),), propositions)
    flat = with_label_sets([empty], None, lambda sets, _: _Reading(automaton, sets, accept, end).machine(propositions))
    return minimize(flat)


@dataclass(frozen=True, slots=True)
class _Move:
    """Labels that lead from a node to another one; None is the node of traces that are rejected for good."""

    labels: LabelSet
    node: Node | None


class _Reading:
    def __init__(self, automaton: FiniteAutomaton, sets: LabelSets, accept: str, end: str | None) -> None:
        self._automaton = automaton
        self._sets = sets
        self._accept = accept
        self._end = end
        own = [self._own_moves(state) for state in range(len(automaton.states))]
        self._moves: list[list[_Move]] = own
        self._start: Node = (automaton.initial, automaton.accepts_empty)

    def _own_moves(self, state: int) -> list[_Move]:
        """The moves out of a state, whose labels are disjoint and together all labels."""
        taken = EMPTY
        moves: list[_Move] = []
        for transition in self._automaton.transitions[state]:
            labels = self._sets.of(transition.formula)
            if (both := self._sets.both(taken, labels)) != EMPTY:
                name, label = self._automaton.states[state], show_label(self._sets.smallest(both))
                raise SyntaxProblem(
                    f"{self._automaton.format}, line {transition.line}: two edges leave state '{name}' on the label "
                    f"{label}: only deterministic automata are read"
                )
            taken = self._sets.either(taken, labels)
            moves.append(_Move(labels, (transition.target, transition.accepts)))
        return [*moves, _Move(self._sets.complement(taken), None)]

    def machine(self, propositions: tuple[str, ...]) -> Hierarchy:
        accepts = self._final()
        if self._end is None and self._accept == "first":
            self._check_asks_for_something()
        hopeful = self._leading_to(accepts)
        if self._start not in hopeful:
            raise RewardMachineError("the automaton accepts no trace" + self._hint())
        numbers = {node: f"u{number}" for number, node in enumerate(self._reached(stop=accepts))}
        edges = [
            edge
            for node, state in numbers.items()
            if not accepts(node)
            for edge in self._edges(
                state, node, lambda to: ACCEPTING if accepts(to) else numbers[to] if to in hopeful else REJECTING
            )
        ]
        name = self._automaton.name or "machine"
        return Hierarchy(name, (machine(name, edges),), propositions)

    def _hint(self) -> str:
        return " so that every continuation is accepted; try accept='first'" if self._accept == "decided" else ""

    def _final(self) -> Callable[[Node], bool]:
        """The nodes at which the machine accepts; with an end, there are none before it."""
        if self._end is not None:
            return lambda _: False
        if self._accept == "first":
            return lambda node: node[1]
        safe = self._accepting_forever()
        return lambda node: node[1] and node[0] in safe

    def _accepting_forever(self) -> set[int]:
        """The states from which every transition accepts, and leads to another such state."""
        safe = set(range(len(self._moves)))
        while True:
            kept = {
                state
                for state in safe
                if all(
                    move.labels == EMPTY or (move.node is not None and move.node[1] and move.node[0] in safe)
                    for move in self._moves[state]
                )
            }
            if kept == safe:
                return safe
            safe = kept

    def _check_asks_for_something(self) -> None:
        nothing = frozenset[str]()
        after = next(move.node for move in self._moves[self._start[0]] if self._holds(move.labels, nothing))
        if self._start[1] or (after is not None and after[1]):
            trace = "the empty trace" if self._start[1] else "a label without propositions"
            raise RewardMachineError(
                f"{trace} is accepted: the automaton forbids, but asks for nothing; say when the trace ends, with "
                "end='done', or accept='decided'"
            )

    def _holds(self, labels: LabelSet, label: frozenset[str]) -> bool:
        return self._sets.both(labels, self._sets.only(label)) != EMPTY

    def _successors(self, node: Node) -> Iterable[Node]:
        return (move.node for move in self._moves[node[0]] if move.node is not None and move.labels != EMPTY)

    def _reached(self, stop: Callable[[Node], bool]) -> list[Node]:
        """The nodes that are reached, the first one first."""
        found = {self._start: None}
        waiting = [self._start]
        while waiting:
            node = waiting.pop()
            for to in self._successors(node) if not stop(node) else ():
                if to not in found:
                    found[to] = None
                    waiting.append(to)
        return list(found)

    def _leading_to(self, accepts: Callable[[Node], bool]) -> set[Node]:
        """The nodes from which some continuation is accepted."""
        nodes = self._reached(accepts)
        before: dict[Node, list[Node]] = {node: [] for node in nodes}
        for node in nodes:
            for to in self._successors(node) if not accepts(node) else ():
                before[to].append(node)
        waiting = [node for node in nodes if (node[1] if self._end is not None else accepts(node))]
        hopeful = set(waiting)
        while waiting:
            for node in before[waiting.pop()]:
                if node not in hopeful:
                    hopeful.add(node)
                    waiting.append(node)
        return hopeful

    def _edges(self, state: str, node: Node, name: Callable[[Node], str]) -> Iterable[Edge]:
        going = EVERY
        if self._end is not None:
            ends = conjunction({self._end})
            going = self._sets.complement(self._sets.of(ends))
            yield Edge(state, ACCEPTING if node[1] else REJECTING, ends)
        for move in self._moves[node[0]]:
            labels = self._sets.both(move.labels, going)
            target = REJECTING if move.node is None else name(move.node)
            if labels != EMPTY and target != state:
                yield Edge(state, target, self._sets.cover(labels))
