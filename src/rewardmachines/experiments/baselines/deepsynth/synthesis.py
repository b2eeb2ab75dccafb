"""States for the windows of a trace, found by a SAT solver.

A choice of states is sound if it makes no state that a symbol e enters and a symbol f leaves, although f was never
observed right after e. A variable says that a place of the windows is in a state; others, that a symbol enters or
leaves a state. Every place must be in some state, and what follows from it is forced: one of the states in which a
solution puts a place is therefore as good as another, and the first is taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import count, product
from typing import Final, TypeAlias

from rewardmachines.experiments.baselines.deepsynth.automaton import INITIAL, Automaton, Pair, Symbol, Trace, Transition
from rewardmachines.experiments.baselines.deepsynth.windows import Part, unread_part

SOLVER: Final = "glucose4"

Place: TypeAlias = int
"""Where a state is to be chosen: a window has the place before its first symbol, and the last one those after, too."""
Step: TypeAlias = tuple[Place, Symbol, Place]
"""A transition of a window, with places where states are to be chosen."""


def extended_by(automaton: Automaton, trace: Trace, observed: set[Pair]) -> Automaton:
    """Extends an automaton such that it can read a trace. All of its transitions are kept.

    Args:
        automaton: An automaton whose transitions allow observed pairs of symbols only.
        trace: The trace, which begins with `start`.
        observed: All pairs of symbols that were ever seen, those of the trace included.

    Returns:
        The automaton, with as many more states as necessary.
    """
    while (part := unread_part(automaton, trace, observed)) is not None:
        forbidden = forbidden_pairs(automaton, trace, observed)
        states = automaton.states
        while (transitions := choice(automaton, part, forbidden, states)) is None:
            states += 1
        automaton = automaton.extended(states, transitions)
    return automaton


def forbidden_pairs(automaton: Automaton, trace: Trace, observed: set[Pair]) -> set[Pair]:
    """The pairs of symbols that were never observed, as far as one of the two is a symbol of the trace."""
    present = set(trace)
    symbols = present | {transition.symbol for transition in automaton.transitions}
    return {pair for pair in product(symbols, symbols) if not present.isdisjoint(pair)} - observed


def steps_of(part: Part) -> list[Step]:
    """The transitions of all windows of a part, each once. The part begins at place 0.

    The first symbol of a window leads from its place to those of the windows that follow it: so all its symbols can be
    read from its place. The last window, which nothing follows, is read through places of its own.
    """
    steps: set[Step] = {(first, part.windows[first][0], second) for first, second in part.joints}
    place = part.last
    for symbol, target in zip(part.windows[part.last], count(len(part.windows)), strict=False):
        steps.add((place, symbol, target))
        place = target
    return sorted(steps)


def choice(automaton: Automaton, part: Part, forbidden: set[Pair], states: int) -> list[Transition] | None:
    """Chooses states for the transitions of a part.

    Args:
        automaton: The automaton, whose transitions are kept.
        part: The part of a trace that is to be read.
        forbidden: Pairs of symbols of which the first may not enter a state that the second leaves.
        states: The number of states to choose from; the initial state can only be chosen where the part begins.

    Returns:
        The transitions, which may exist already; None if there is no choice.
    """
    steps = steps_of(part)
    places = sorted({place for source, _, target in steps for place in (source, target)})
    allowed = {place: range(INITIAL + 1, states + 1) if place else sorted(part.beginnings) for place in places}
    variables = _Variables()
    clauses = [[variables[f"at {place}", state] for state in allowed[place]] for place in places]
    for source, symbol, target in steps:
        for kind, place in (("leaves", source), ("enters", target)):
            clauses.extend(
                [-variables[f"at {place}", state], variables[f"{kind} {symbol}", state]] for state in allowed[place]
            )
    clauses.extend(_rules(automaton, forbidden, states, variables))
    model = _solve(clauses)
    if model is None:
        return None
    chosen = {
        place: next(state for state in allowed[place] if variables[f"at {place}", state] in model) for place in places
    }
    return [Transition(chosen[source], symbol, chosen[target]) for source, symbol, target in steps]


class _Variables(dict[tuple[str, int], int]):
    """The number of the variable that something is said of a state; new ones are made when they are asked for."""

    def __missing__(self, key: tuple[str, int]) -> int:
        self[key] = len(self) + 1
        return self[key]


def _rules(automaton: Automaton, forbidden: set[Pair], states: int, variables: _Variables) -> Iterator[list[int]]:
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
