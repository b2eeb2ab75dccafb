"""States for the sequences of symbols that a trace asks an automaton to read, found by a SAT solver.

A choice of states is sound if it makes no state that a symbol e enters and a symbol f leaves, although f was never
observed right after e. A variable says that a place of a sequence is in a state; others, that a symbol enters or leaves
a state. Every place must be in some state, and what follows from it is forced: one of the states in which a solution
puts a place is therefore as good as another, and the first is taken.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from itertools import product
from typing import Final, TypeAlias

from rewardmachines.studies.baselines.deepsynth.automaton import (
    INITIAL,
    START,
    Automaton,
    Pair,
    Symbol,
    Trace,
    Transition,
    pairs_of,
)

SOLVER: Final = "glucose4"
WINDOW: Final = 3
"""The number of symbols of a window."""
BEFORE: Final = 2
"""The number of symbols before the failing one with which the unread part begins."""
LATER: Final = 10
"""The number of symbols of a sequence that is added because the trace still fails: the last of them is the failing
one."""
SHORTEST_CUT: Final = 10
"""The least length of a prefix that is added beside a trace."""
MOST_CUTS: Final = 1000
"""The most prefixes that are drawn for a trace."""

Place: TypeAlias = tuple[int, int]
"""A choice of a state: the number of a sequence, and the number of its symbols before the place."""


def extended_by(automaton: Automaton, trace: Trace, generator: random.Random) -> Automaton:
    """Extends an automaton such that it can read a trace. All of its transitions are kept.

    Prefixes of the trace are added before it. As they are added in pieces, the whole trace may fail even then: the
    symbols up to a failure are added until it can be read. The observed pairs are those of the whole trace, and of all
    traces that were added before.

    Args:
        automaton: The automaton.
        trace: The trace, which begins with `START`.
        generator: Draws the prefixes.

    Returns:
        The automaton, with as many more states as necessary.
    """
    if automaton.follows(trace):
        return automaton
    observed = automaton.pairs | pairs_of(trace)
    for part in with_prefixes(trace, generator):
        failure = automaton.failure(part)
        if failure is not None:
            automaton = _with_sequences(automaton, unread_sequences(part, failure), observed)
    while (failure := automaton.failure(trace)) is not None:
        automaton = _with_sequences(automaton, [later_sequence(automaton, trace, failure)], observed)
    return automaton


def _with_sequences(automaton: Automaton, sequences: Sequence[Trace], observed: Set[Pair]) -> Automaton:
    """The automaton with transitions for sequences, and with as many more states as they need."""
    forbidden, states = forbidden_pairs(automaton, sequences, observed), automaton.states
    while (transitions := choice(automaton, sequences, forbidden, states)) is None:
        states += 1
    return automaton.extended(states, transitions)


# -- the sequences that an automaton must be able to read


def prefixes(trace: Trace, generator: random.Random) -> list[Trace]:
    """Random prefixes of a trace: half as many as it has symbols, 1000 at most, and none of a short trace.

    As published, the start of the next trace counts as a symbol of this one.

    Args:
        trace: The trace.
        generator: Draws the lengths, of which some may be equal.
    """
    length = len(trace) + 1
    if round(0.75 * length) <= SHORTEST_CUT:
        return []
    longest = max(length - SHORTEST_CUT, round(0.75 * length))
    return [trace[: generator.randint(SHORTEST_CUT, longest)] for _ in range(min(round(length / 2), MOST_CUTS))]


def with_prefixes(trace: Trace, generator: random.Random) -> list[Trace]:
    """A trace and prefixes of it, each once, the shortest first."""
    return sorted({trace, *prefixes(trace, generator)}, key=len)


def unread_sequences(trace: Trace, failure: int) -> list[Trace]:
    """The sequences that stand for the part of a trace that cannot be read, which begins before the failing symbol.

    Args:
        trace: The trace.
        failure: The index of the first symbol that cannot be read.

    Returns:
        The distinct windows of the part, if it has at least three times as many symbols; otherwise the part itself.
    """
    part = trace[max(0, failure - BEFORE) :]
    windows = sorted({part[place : place + WINDOW] for place in range(len(part) - WINDOW + 1)})
    return windows if windows and WINDOW * len(windows) <= len(part) else [part]


def later_sequence(automaton: Automaton, trace: Trace, failure: int) -> Trace:
    """The sequence that is added when a trace still fails: ten symbols, of which the last one is the failing one.

    It is longer if the automaton can read it from some state, as nothing would be demanded then; the whole beginning of
    the trace can never be read.
    """
    begin = max(0, failure + 1 - LATER)
    while begin and automaton.reads_anywhere(trace[begin : failure + 1]):
        begin -= 1
    return trace[begin : failure + 1]


# -- their states


def forbidden_pairs(automaton: Automaton, sequences: Sequence[Trace], observed: Set[Pair]) -> set[Pair]:
    """The pairs of symbols that were never observed, as far as one of the two is a symbol of the sequences."""
    present = set("".join(sequences))
    symbols = present | {transition.symbol for transition in automaton.transitions}
    return {pair for pair in product(symbols, symbols) if not present.isdisjoint(pair)} - observed


def choice(
    automaton: Automaton, sequences: Sequence[Trace], forbidden: Set[Pair], states: int
) -> list[Transition] | None:
    """Chooses states for the transitions of sequences.

    Args:
        automaton: The automaton, whose transitions are kept.
        sequences: What is to be read: from the initial state if it begins with `START`, else from any other one.
        forbidden: Pairs of symbols of which the first may not enter a state that the second leaves.
        states: The number of states to choose from.

    Returns:
        The transitions, which may exist already; None if there is no choice.
    """
    variables = _Variables()
    allowed: dict[Place, Sequence[int]] = {}
    for number, sequence in enumerate(sequences):
        for place in range(len(sequence) + 1):
            is_initial = place == 0 and sequence[0] == START
            allowed[number, place] = [INITIAL] if is_initial else range(INITIAL + 1, states + 1)
    clauses = [[variables[f"at {place}", state] for state in among] for place, among in allowed.items()]
    for number, sequence in enumerate(sequences):
        for place, symbol in enumerate(sequence):
            clauses.extend(_moves((number, place), symbol, "leaves", allowed, variables))
            clauses.extend(_moves((number, place + 1), symbol, "enters", allowed, variables))
    clauses.extend(_rules(automaton, forbidden, states, variables))
    model = _solve(clauses)
    if model is None:
        return None
    chosen = {
        place: next(state for state in among if variables[f"at {place}", state] in model)
        for place, among in allowed.items()
    }
    return [
        Transition(chosen[number, place], symbol, chosen[number, place + 1])
        for number, sequence in enumerate(sequences)
        for place, symbol in enumerate(sequence)
    ]


class _Variables(dict[tuple[str, int], int]):
    """The number of the variable that something is said of a state; new ones are made when they are asked for."""

    def __missing__(self, key: tuple[str, int]) -> int:
        self[key] = len(self) + 1
        return self[key]


def _moves(
    place: Place, symbol: Symbol, kind: str, allowed: dict[Place, Sequence[int]], variables: _Variables
) -> Iterator[list[int]]:
    """In whatever state a place is, its symbol enters or leaves that state."""
    for state in allowed[place]:
        yield [-variables[f"at {place}", state], variables[f"{kind} {symbol}", state]]


def _rules(automaton: Automaton, forbidden: Set[Pair], states: int, variables: _Variables) -> Iterator[list[int]]:
    """Existing transitions are kept, and no forbidden pair becomes possible."""
    by_first: defaultdict[Symbol, list[Symbol]] = defaultdict(list)
    for entering, leaving in sorted(forbidden):
        by_first[entering].append(leaving)
    for state in range(INITIAL + 1, states + 1):
        for entering, all_leaving in by_first.items():
            for leaving in all_leaving:
                yield [-variables[f"enters {entering}", state], -variables[f"leaves {leaving}", state]]
    for source, symbol, target in sorted(automaton.transitions):
        yield [variables[f"leaves {symbol}", source]]
        yield [variables[f"enters {symbol}", target]]


def _solve(clauses: list[list[int]]) -> set[int] | None:
    from pysat.solvers import Solver  # slow to load, and only needed in the process that searches

    with Solver(name=SOLVER, bootstrap_with=clauses) as solver:
        return set(solver.get_model()) if solver.solve() else None
