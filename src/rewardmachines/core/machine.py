"""Reward machines whose edges call machines (Section 3)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rewardmachines.core.errors import (
    ContradictionError,
    DuplicateNameError,
    NoAcceptingStateError,
    RewardMachineError,
    TerminalEdgeError,
    UnknownStateError,
)
from rewardmachines.core.formula import Formula, Label
from rewardmachines.core.text import parse_formula

LEAF: Final = "⊤"
"""M⊤, the machine that returns at once: what an edge without a call calls."""

INITIAL: Final = "u0"
ACCEPTING: Final = "uA"
REJECTING: Final = "uR"


@dataclass(frozen=True, slots=True)
class Edge:
    """φ(source, target, callee): from one state to another by a call, under a formula, the call's context."""

    source: str
    target: str
    formula: Formula
    callee: str = LEAF

    @property
    def calls_leaf(self) -> bool:
        """Whether the edge calls the leaf, which returns at once."""
        return self.callee == LEAF

    def __str__(self) -> str:
        label = str(self.formula) if self.calls_leaf else f"{self.callee} | {self.formula}"
        return f"{self.source} --[{label}]--> {self.target}"


@dataclass(frozen=True)
class RewardMachine:
    """States, and edges that say when to move and what to call on the way.

    Edges that agree in source, target and callee are one edge: their formulas are OR-ed. Whether two edges
    could fire together depends on the machines called: see `check_determinism`.
    """

    name: str
    states: tuple[str, ...]
    edges: tuple[Edge, ...]
    initial: str = INITIAL
    accepting: frozenset[str] = frozenset({ACCEPTING})
    rejecting: frozenset[str] = frozenset()
    _outgoing: Mapping[str, tuple[Edge, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", _merged(self.edges))
        _check(self)
        outgoing: dict[str, list[Edge]] = {state: [] for state in self.states}
        for edge in self.edges:
            outgoing[edge.source].append(edge)
        object.__setattr__(self, "_outgoing", {state: tuple(edges) for state, edges in outgoing.items()})

    def outgoing(self, state: str) -> tuple[Edge, ...]:
        try:
            return self._outgoing[state]
        except KeyError:
            raise UnknownStateError(f"machine '{self.name}' has no state '{state}'") from None

    def is_terminal(self, state: str) -> bool:
        """Whether the state is accepting or rejecting."""
        return state in self.accepting or state in self.rejecting

    @property
    def callees(self) -> frozenset[str]:
        """The machines called, without the leaf."""
        return frozenset(edge.callee for edge in self.edges if not edge.calls_leaf)

    @property
    def propositions(self) -> Label:
        """The propositions that its formulas mention."""
        return frozenset().union(*(edge.formula.propositions for edge in self.edges))


def machine(
    name: str,
    edges: Iterable[tuple[str, str, str] | tuple[str, str, str, str] | Edge],
    *,
    states: Iterable[str] = (),
    initial: str = INITIAL,
    accepting: Iterable[str] = (ACCEPTING,),
    rejecting: Iterable[str] | None = None,
) -> RewardMachine:
    """A machine, from edges as tuples.

    Args:
        name: The name by which other machines call it.
        edges: `(source, target, formula)` or `(source, target, formula, callee)`, formulas as text.
        states: In this order, if it lists them all; those that edges mention, if not given.
        initial: The initial state.
        accepting: The accepting state.
        rejecting: The rejecting state; `uR` where an edge leads there, if not given.

    Raises:
        RewardMachineError: A state is unknown, or an edge leaves a terminal state.

    >>> paper = machine("paper", [("u0", "u1", "sugarcane"), ("u1", "uA", "workbench")])
    """
    built = tuple(e if isinstance(e, Edge) else Edge(e[0], e[1], parse_formula(e[2]), *e[3:]) for e in edges)
    mentioned = [state for edge in built for state in (edge.source, edge.target)]
    states, accepting = tuple(states), tuple(accepting)
    if rejecting is None:
        rejecting = (REJECTING,) if REJECTING in {*mentioned, *states} - {*accepting} else ()
    rejecting = tuple(rejecting)
    last = {*accepting, *rejecting}
    inner = [s for s in (initial, *states, *mentioned) if s not in last]
    ordered = tuple(dict.fromkeys([*inner, *accepting, *rejecting]))
    if set(ordered) == set(states):
        ordered = states
    return RewardMachine(
        name=name,
        states=ordered,
        edges=built,
        initial=initial,
        accepting=frozenset(accepting),
        rejecting=frozenset(rejecting),
    )


def _merged(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    merged: dict[tuple[str, str, str], Edge] = {}
    for edge in edges:
        key = (edge.source, edge.target, edge.callee)
        formula = merged[key].formula | edge.formula if key in merged else edge.formula
        merged[key] = Edge(edge.source, edge.target, formula, edge.callee)
    return tuple(merged.values())


def _check(machine: RewardMachine) -> None:
    where = f"machine '{machine.name}'"
    if not machine.name or machine.name == LEAF:
        raise RewardMachineError(f"'{machine.name}' cannot be the name of a machine")
    states = set(machine.states)
    if len(states) != len(machine.states):
        twice = next(s for s in machine.states if machine.states.count(s) > 1)
        raise DuplicateNameError(f"{where}: the state '{twice}' is listed twice")
    if not machine.accepting:
        raise NoAcceptingStateError(f"{where} has no accepting state, so no trace can be accepted: name one")
    for kind, named in (
        ("initial", {machine.initial}),
        ("accepting", machine.accepting),
        ("rejecting", machine.rejecting),
    ):
        if unknown := sorted(named - states):
            raise UnknownStateError(f"{where}: the {kind} state '{unknown[0]}' is not among its states")
    if both := sorted(machine.accepting & machine.rejecting):
        raise RewardMachineError(f"{where}: the state '{both[0]}' is both accepting and rejecting")
    for edge in machine.edges:
        _check_edge(machine, edge, states)


def _check_edge(machine: RewardMachine, edge: Edge, states: Container[str]) -> None:
    for state in (edge.source, edge.target):
        if state not in states:
            raise UnknownStateError(f"{location(machine, edge)}: the state '{state}' is not among its states", edge)
    if machine.is_terminal(edge.source):
        kind = "accepting" if edge.source in machine.accepting else "rejecting"
        message = f"{location(machine, edge)}: no edge may leave the {kind} state '{edge.source}'"
        raise TerminalEdgeError(message, edge)
    if edge.formula.is_false:
        raise ContradictionError(f"{location(machine, edge)}: no label can satisfy this formula; remove the edge", edge)


def location(machine: RewardMachine, edge: Edge) -> str:
    """The position of an error in a machine, as the beginning of a message."""
    return f"machine '{machine.name}', edge {edge}"
