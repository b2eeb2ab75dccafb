"""Flat hierarchies in the Hanoi Omega-Automata format, version 1, which most tools for automata read and write.

Acceptance is state-based: set 0 holds the accepting states and set 1 the rejecting ones. What a reward machine leaves
unsaid, that it stays where no edge fires, an automaton says: each state has a self-loop for those labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rewardmachines.core.errors import NondeterminismError, NotFlatError
from rewardmachines.core.formula import Conjunction, Formula
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import EMPTY, LabelSet, LabelSets, with_label_sets
from rewardmachines.core.machine import Edge, RewardMachine
from rewardmachines.core.traversal import show_label
from rewardmachines.exchange.finite_automaton import AutomatonTransition, FiniteAutomaton, machine_of
from rewardmachines.exchange.hoa_document import (
    ACCEPTANCE,
    ACCEPTING_SET,
    EDGE_ORDER,
    FINITE_ADVICE,
    REJECTING_SET,
    Document,
    HoaState,
    read_document,
)
from rewardmachines.exchange.hoa_tokens import problem


def guards(edges: Sequence[Edge], sets: LabelSets) -> LabelSet:
    """The labels that satisfy one of the leaf edges out of a state; raises if a label satisfies two of them.

    Halves are compared with halves, so that many edges are as cheap as a few.
    """
    if len(edges) <= 1:
        return sets.of(edges[0].formula) if edges else EMPTY
    middle = len(edges) // 2
    left, right = guards(edges[:middle], sets), guards(edges[middle:], sets)
    common = sets.both(left, right)
    if common != EMPTY:
        label = sets.smallest(common)
        first, second = [edge for edge in edges if edge.formula.holds(label)][:2]
        raise NondeterminismError(
            f"state '{first.source}': the label {show_label(label)} satisfies both {first} and {second}"
        )
    return sets.either(left, right)


UNNAMED: Final = "machine"
"""The name of an automaton without one."""


def to_hoa(hierarchy: Hierarchy) -> str:
    """The root as a deterministic and complete automaton in the Hanoi Omega-Automata format.

    Args:
        hierarchy: A flat one.

    Raises:
        NotFlatError: The root calls machines: flatten it first.
        NondeterminismError: Two edges out of a state fire on the same label, even where no trace gets there.
    """
    if not hierarchy.is_flat:
        callee = min(hierarchy[hierarchy.root].callees)
        raise NotFlatError(
            f"an automaton cannot call: the root '{hierarchy.root}' calls '{callee}'; flatten the hierarchy first"
        )
    return with_label_sets([hierarchy], None, lambda sets, _: "\n".join(_lines(hierarchy, sets)) + "\n")


def from_hoa(
    text: str, *, name: str | None = None, accept: str | None = None, end: str | None = None
) -> Hierarchy:  # fmt: skip
    """The flat hierarchy of a deterministic automaton with our acceptance, or of one of finite traces.

    Self-loops drop out, and labels for which a state has no edge leave it as it is: staying is the default. Reading
    back what `to_hoa` wrote gives an equal hierarchy, up to self-loops and machines that the root does not call.

    With `accept` or `end`, the text is an automaton of finite traces, as Spot's `ltlf2dfa` writes it: a trace is
    accepted if its last edge, or the state that it leads to, is in set 0, and labels without an edge are rejected.

    Args:
        text: An automaton in the Hanoi Omega-Automata format.
        name: The name of the machine; that of the automaton, if not given.
        accept: When an automaton of finite traces accepts: "first", as soon as it accepts the trace so far, or
            "decided", once it accepts every continuation.
        end: The proposition that says that the trace has ended, at which an automaton of finite traces is judged.

    Raises:
        RewardMachineError: The text is no such automaton; the message names the line.
    """
    if accept is not None or end is not None:
        return machine_of(_finite_automaton(read_document(text, finite=True), name), accept or "first", end)
    document = read_document(text)
    _check_terminal_states(document)
    names = _state_names(document)
    edges = {number: _edges(number, state, names) for number, state in document.states.items()}
    leaving = [edge for number in edges for edge in edges[number] if edge.target != names[number]]
    machine = RewardMachine(
        name=name or document.name or UNNAMED,
        states=tuple(names),
        edges=tuple(_reordered(leaving, document.edge_order)),
        initial=names[document.start],
        accepting=frozenset(names[number] for number in _members(document, ACCEPTING_SET)),
        rejecting=frozenset(names[number] for number in _members(document, REJECTING_SET)),
    )
    hierarchy = Hierarchy(machine.name, (machine,), document.propositions)
    with_label_sets([hierarchy], None, lambda sets, _: _check_determinism(document, edges, sets))
    return hierarchy


# -- writing


def _lines(hierarchy: Hierarchy, sets: LabelSets) -> Iterator[str]:
    machine = hierarchy[hierarchy.root]
    yield "HOA: v1"
    yield f"name: {_quoted(machine.name)}"
    yield f"States: {len(machine.states)}"
    yield f"Start: {machine.states.index(machine.initial)}"
    yield " ".join([f"AP: {len(hierarchy.propositions)}", *map(_quoted, hierarchy.propositions)])
    yield f"Acceptance: {ACCEPTANCE}"
    yield "properties: trans-labels explicit-labels state-acc no-univ-branch deterministic complete"
    order = _edge_order(machine)
    if order != sorted(order):
        yield " ".join([EDGE_ORDER, *map(str, order)])
    yield "--BODY--"
    yield from _state_lines(machine, hierarchy.propositions, sets)
    yield "--END--"


def _state_lines(machine: RewardMachine, propositions: tuple[str, ...], sets: LabelSets) -> Iterator[str]:
    state_numbers = {state: i for i, state in enumerate(machine.states)}
    proposition_numbers = {p: i for i, p in enumerate(propositions)}
    for state, number in state_numbers.items():
        yield " ".join([f"State: {number}", _quoted(state), *_set(machine, state)])
        guards(machine.outgoing(state), sets)
        leaving = [edge for edge in machine.outgoing(state) if edge.target != state]
        for edge in leaving:
            yield f"  [{_label(edge.formula, proposition_numbers)}] {state_numbers[edge.target]}"
        staying = sets.complement(guards(leaving, sets))
        if staying != EMPTY:
            yield f"  [{_label(sets.cover(staying), proposition_numbers)}] {number}"


def _set(machine: RewardMachine, state: str) -> list[str]:
    if not machine.is_terminal(state):
        return []
    return [f"{{{ACCEPTING_SET if state in machine.accepting else REJECTING_SET}}}"]


def _edge_order(machine: RewardMachine) -> list[int]:
    """The position in the machine of each edge of the body, which is sorted by states."""
    leaving = [edge for edge in machine.edges if edge.source != edge.target]
    state_numbers = {state: i for i, state in enumerate(machine.states)}
    return sorted(range(len(leaving)), key=lambda i: state_numbers[leaving[i].source])


def _label(formula: Formula, numbers: dict[str, int]) -> str:
    return " | ".join(_conjunction(disjunct, numbers) for disjunct in formula.ordered())


def _conjunction(disjunct: Conjunction, numbers: dict[str, int]) -> str:
    literals = sorted((numbers[p], "" if p in disjunct.required else "!") for p in disjunct.propositions)
    return "&".join(f"{sign}{number}" for number, sign in literals) or "t"


def _quoted(name: str) -> str:
    """A name in double quotes; what is not printable is escaped, because automata are shown on terminals."""
    escaped = (f"\\{c}" if c in '\\"' else c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in name)
    return f'"{"".join(escaped)}"'


# -- reading


def _finite_automaton(document: Document, name: str | None) -> FiniteAutomaton:
    accepting = {number for number, state in document.states.items() if ACCEPTING_SET in state.sets}
    if document.accepts_all:
        accepting = set(range(document.size))
    transitions = tuple(
        tuple(
            AutomatonTransition(edge.target, edge.formula, edge.accepts or edge.target in accepting, edge.line)
            for edge in (document.states[number].edges if number in document.states else ())
        )
        for number in range(document.size)
    )
    return FiniteAutomaton(
        name=name or document.name or UNNAMED,
        propositions=document.propositions,
        states=tuple(_state_names(document)),
        initial=document.start,
        accepts_empty=document.start in accepting,
        transitions=transitions,
        format="HOA",
    )


def _check_terminal_states(document: Document) -> None:
    for number, state in document.states.items():
        for edge in state.edges:
            if state.sets and edge.target != number and not edge.formula.is_false:
                kind = "accepting" if ACCEPTING_SET in state.sets else "rejecting"
                raise problem(
                    f"state {number} is {kind}, so nothing may leave it: write '[t] {number}' in place of the edge to "
                    f"state {edge.target}, remove the set of state {number}, {FINITE_ADVICE}",
                    edge.line,
                )


def _state_names(document: Document) -> list[str]:
    """State i is called u<i> unless it has a name; primes keep it apart from states that do."""
    given = {number: state.name for number, state in document.states.items() if state.name is not None}
    taken: set[str] = set()
    for number, name in given.items():
        if name in taken:
            raise problem(f"a state before it is called {_quoted(name)} too: rename one", document.states[number].line)
        taken.add(name)
    names: list[str] = []
    for number in range(document.size):
        name = given.get(number, f"u{number}")
        while number not in given and name in taken:
            name += "'"
        taken.add(name)
        names.append(name)
    return names


def _check_determinism(document: Document, edges: dict[int, list[Edge]], sets: LabelSets) -> None:
    """Self-loops count: where one of them and another edge fire together, staying is not the default."""
    for number, outgoing in edges.items():
        try:
            guards(outgoing, sets)
        except NondeterminismError as error:
            raise NondeterminismError(f"HOA, line {document.states[number].line}: {error}") from None


def _edges(number: int, state: HoaState, names: list[str]) -> list[Edge]:
    """One edge for each target."""
    disjuncts: dict[int, set[Conjunction]] = {}
    for edge in state.edges:
        disjuncts.setdefault(edge.target, set()).update(edge.formula.disjuncts)
    return [Edge(names[number], names[target], Formula(frozenset(some))) for target, some in disjuncts.items() if some]


def _members(document: Document, number: int) -> Iterable[int]:
    return (state for state, written in document.states.items() if number in written.sets)


def _reordered(edges: list[Edge], order: tuple[int, ...]) -> list[Edge]:
    """The edges in the order that the header gives, if it fits: it may be out of date."""
    if sorted(order) != list(range(len(edges))):
        return edges
    placed = dict(zip(order, edges, strict=True))
    return [placed[i] for i in range(len(edges))]
