"""The nondeterministic automaton that DeepSynth extends trace by trace.

States are numbered from 1, and all of them accept: a trace is accepted if it can be read. State 1 is the initial one.
It is left by the symbol `START` alone, which begins every trace, and it is never entered again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

Symbol: TypeAlias = str
"""A single character."""
Trace: TypeAlias = str
"""The symbols of an episode without repetition, `START` first: a text, as all traces of a run are kept."""
Pair: TypeAlias = tuple[Symbol, Symbol]
"""Two symbols of which the second follows the first."""

START: Final = "^"
"""The symbol that begins traces."""
INITIAL: Final = 1


class Transition(NamedTuple):
    """An edge of an automaton."""

    source: int
    symbol: Symbol
    target: int


@dataclass(frozen=True)
class Automaton:
    """States 1 to `states`, and what leads from one to another.

    Raises:
        ValueError: A transition leaves the initial state without `START`, has `START` later, enters the initial
            state, or has a state that does not exist.
    """

    states: int
    transitions: frozenset[Transition] = frozenset()

    def __post_init__(self) -> None:
        for source, symbol, target in self.transitions:
            if (source == INITIAL) != (symbol == START):
                raise ValueError(f"state {source} cannot be left by {symbol}")
            if not (INITIAL <= source <= self.states and INITIAL < target <= self.states):
                raise ValueError(f"no transition can lead from state {source} to state {target}")

    @cached_property
    def _successors(self) -> dict[tuple[int, Symbol], frozenset[int]]:
        targets: defaultdict[tuple[int, Symbol], set[int]] = defaultdict(set)
        for source, symbol, target in self.transitions:
            targets[source, symbol].add(target)
        return {place: frozenset(found) for place, found in targets.items()}

    def successors(self, states: Iterable[int], symbol: Symbol) -> frozenset[int]:
        """The states that a symbol leads to from any of the given ones."""
        nothing: frozenset[int] = frozenset()
        return nothing.union(*(self._successors.get((state, symbol), nothing) for state in states))

    @cached_property
    def pairs(self) -> frozenset[Pair]:
        """The pairs of symbols of which the first enters a state that the second leaves.

        Only observed pairs become possible, and those of a trace that can be read all are: so these are the pairs of
        all traces that were added.
        """
        leaving: defaultdict[int, set[Symbol]] = defaultdict(set)
        for source, symbol, _ in self.transitions:
            leaving[source].add(symbol)
        return frozenset((symbol, after) for _, symbol, target in self.transitions for after in leaving[target])

    def reached(self, trace: Trace, states: Iterable[int] = (INITIAL,)) -> Iterator[frozenset[int]]:
        """The states in which the automaton may be before the first symbol, and after each symbol that it can read."""
        present = frozenset(states)
        yield present
        for symbol in trace:
            present = self.successors(present, symbol)
            if not present:
                return
            yield present

    def failure(self, trace: Trace) -> int | None:
        """The index of the first symbol of a trace that cannot be read; None if all can."""
        read = sum(1 for _ in self.reached(trace)) - 1
        return None if read == len(trace) else read

    def follows(self, trace: Trace) -> bool:
        """Whether the whole trace can be read."""
        return self.failure(trace) is None

    def reads_anywhere(self, sequence: Trace) -> bool:
        """Whether a sequence can be read from some state."""
        return sum(1 for _ in self.reached(sequence, range(INITIAL, self.states + 1))) > len(sequence)

    def extended(self, states: int, transitions: Iterable[Transition]) -> Automaton:
        """The automaton with the given number of states, and with further transitions."""
        return Automaton(states, self.transitions.union(transitions))


def pairs_of(trace: Trace) -> set[Pair]:
    """The pairs of symbols that follow each other in a trace."""
    return set(pairwise(trace))
