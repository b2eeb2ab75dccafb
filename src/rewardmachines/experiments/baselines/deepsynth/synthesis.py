"""States for the sequences of a trace, found by a SAT solver.

A choice of states is sound if it makes no state that a symbol e enters and a symbol f leaves, although f was never
observed right after e. A variable says that a place of a sequence is in a state; others, that a symbol enters or leaves
a state. Every place must be in some state, and what follows from it is forced: one of the states in which a solution
puts a place is therefore as good as another, and the first is taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from itertools import product
from typing import Final, TypeAlias

from rewardmachines.experiments.baselines.deepsynth.automaton import (
    INITIAL,
    START,
    Automaton,
    Pair,
    Symbol,
    Trace,
    Transition,
    pairs_of,
)
from rewardmachines.experiments.baselines.deepsynth.windows import later_sequence, unread_sequences

SOLVER: Final = "glucose4"

Place: TypeAlias = tuple[int, int]
"""Where a state is to be chosen: the number of a sequence, and the number of its symbols before the place."""


def extended_by(automaton: Automaton, trace: Trace) -> Automaton:
    """Extends an automaton such that it can read a trace. All of its transitions are kept.

    The observed pairs are those of the trace, and of all traces that were added before.

    Args:
        automaton: The automaton.
        trace: The trace, which begins with `START`.

    Returns:
        The automaton, with as many more states as necessary.
    """
    failure = automaton.failure(trace)
    if failure is None:
        return automaton
    forbidden = forbidden_pairs(automaton, trace)
    sequences, states, extended = unread_sequences(trace, failure), automaton.states, automaton
    while failure is not None:
        while (transitions := choice(automaton, sequences, forbidden, states)) is None:
            states += 1
        extended = automaton.extended(states, transitions)
        failure = extended.failure(trace)
        if failure is not None:
            sequences.append(later_sequence(extended, trace, failure))
    return extended


def forbidden_pairs(automaton: Automaton, trace: Trace) -> set[Pair]:
    """The pairs of symbols that were never observed, as far as one of the two is a symbol of the trace."""
    present = set(trace)
    symbols = present | {transition.symbol for transition in automaton.transitions}
    touching = {pair for pair in product(symbols, symbols) if not present.isdisjoint(pair)}
    return touching - automaton.pairs - pairs_of(trace)


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
