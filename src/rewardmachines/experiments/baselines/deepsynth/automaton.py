"""The nondeterministic automaton that DeepSynth extends trace by trace.

States are numbered from 1, and all of them accept: a trace is accepted if it can be read. State 1 is the initial one.
It is left by the symbol `start` alone, which begins every trace, and it is never entered again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

Symbol: TypeAlias = str
Trace: TypeAlias = tuple[Symbol, ...]
"""The symbols of an episode without repetition, `start` first."""
Pair: TypeAlias = tuple[Symbol, Symbol]
"""Two symbols of which the second follows the first."""

START: Final = "<start>"
"""The symbol that begins traces, in brackets so that no proposition is called the same."""
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
        ValueError: A transition leaves the initial state without `start`, has `start` elsewhere, enters the initial
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
    def _entering(self) -> dict[int, frozenset[Symbol]]:
        symbols: defaultdict[int, set[Symbol]] = defaultdict(set)
        for _, symbol, target in self.transitions:
            symbols[target].add(symbol)
        return {state: frozenset(found) for state, found in symbols.items()}

    def entering(self, state: int) -> frozenset[Symbol]:
        """The symbols of the transitions that lead to a state."""
        return self._entering.get(state, frozenset())

    def reached(self, trace: Trace) -> Iterator[frozenset[int]]:
        """The states in which the automaton may be before the first symbol, and after each symbol that it can read."""
        states = frozenset({INITIAL})
        yield states
        for symbol in trace:
            states = self.successors(states, symbol)
            if not states:
                return
            yield states

    def failure(self, trace: Trace) -> int | None:
        """The index of the first symbol of a trace that cannot be read; None if all can."""
        read = sum(1 for _ in self.reached(trace)) - 1
        return None if read == len(trace) else read

    def follows(self, trace: Trace) -> bool:
        """Whether the whole trace can be read."""
        return self.failure(trace) is None

    def extended(self, states: int, transitions: Iterable[Transition]) -> Automaton:
        """The automaton with so many states, and with further transitions."""
        return Automaton(states, self.transitions.union(transitions))


def pairs_of(traces: Iterable[Trace]) -> set[Pair]:
    """The pairs of symbols that follow each other in the traces."""
    return {pair for trace in traces for pair in pairwise(trace)}
