"""The nondeterministic automaton that DeepSynth extends trace by trace.

States are numbered from 1, and all of them accept: a trace is accepted if it can be read. State 1 is the initial one.
It is left by the symbol `START` alone, which begins every trace, and it is never entered again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
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


class AutomatonArc(NamedTuple):
    """An edge of an automaton."""

    source: int
    symbol: Symbol
    target: int


@dataclass(frozen=True)
class LabelAutomaton:
    """States 1 to `states`, and what leads from one to another.

    Raises:
        ValueError: A transition leaves the initial state without `START`, has `START` later, enters the initial
            state, or has a state that does not exist.
    """

    states: int
    transitions: frozenset[AutomatonArc] = frozenset()

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

    def extended(self, states: int, transitions: Iterable[AutomatonArc]) -> LabelAutomaton:
        """The automaton with the given number of states, and with further transitions."""
        return LabelAutomaton(states, self.transitions.union(transitions))


def pairs_of(trace: Trace) -> set[Pair]:
    """The pairs of symbols that follow each other in a trace."""
    return set(pairwise(trace))


@dataclass(frozen=True)
class DeterministicAutomaton:
    """An automaton of which each state has at most one successor for a symbol. State 1 is the initial one."""

    transitions: tuple[AutomatonArc, ...]
    """All transitions, in order."""

    @cached_property
    def successors(self) -> Mapping[int, Mapping[Symbol, int]]:
        """The transitions of every state, by symbol."""
        found: dict[int, dict[Symbol, int]] = {INITIAL: {}}
        for source, symbol, target in self.transitions:
            found.setdefault(source, {})[symbol] = target
            found.setdefault(target, {})
        return found

    @property
    def states(self) -> Sequence[int]:
        """The states, in order."""
        return sorted(self.successors)

    @cached_property
    def entering(self) -> Mapping[int, Set[Symbol]]:
        """The symbols that lead to each state."""
        found: dict[int, set[Symbol]] = {state: set() for state in self.successors}
        for _, symbol, target in self.transitions:
            found[target].add(symbol)
        return found

    def run(self, trace: Iterable[Symbol]) -> int | None:
        """The state to which a trace leads; None if it cannot be read."""
        successors, state = self.successors, INITIAL
        for symbol in trace:
            target = successors[state].get(symbol)
            if target is None:
                return None
            state = target
        return state


def determinize(
    automaton: LabelAutomaton, traces: Sequence[Trace], previous: DeterministicAutomaton | None
) -> DeterministicAutomaton:
    """A small deterministic automaton that reads what is given.

    Args:
        automaton: A nondeterministic automaton that can read the traces.
        traces: The traces that must still be read when states are merged that differ in what they read.
        previous: The automaton whose states are to be recognized by their numbers, if there is one.
    """
    return renamed(merged(minimized(subsets(automaton)), traces), previous)


def subsets(automaton: LabelAutomaton) -> DeterministicAutomaton:
    """The reachable sets of states as states: it reads the same traces."""
    symbols = sorted({transition.symbol for transition in automaton.transitions})
    numbers = {frozenset({INITIAL}): INITIAL}
    waiting, transitions = deque(numbers), []
    while waiting:
        states = waiting.popleft()
        for symbol in symbols:
            targets = automaton.successors(states, symbol)
            if not targets:
                continue
            if targets not in numbers:
                numbers[targets] = len(numbers) + 1
                waiting.append(targets)
            transitions.append(AutomatonArc(numbers[states], symbol, numbers[targets]))
    return DeterministicAutomaton(tuple(sorted(transitions)))


def minimized(automaton: DeterministicAutomaton) -> DeterministicAutomaton:
    """The smallest automaton that reads the same traces.

    Blocks of states are split by refinement. As all states accept, two states differ only in that some symbols can be
    read in one and not in the other, now or later.
    """
    block = dict.fromkeys(automaton.states, 0)
    blocks, has_split = 1, True
    while has_split:
        look = {
            state: (block[state], tuple(sorted((symbol, block[target]) for symbol, target in successors.items())))
            for state, successors in automaton.successors.items()
        }
        numbers = {seen: number for number, seen in enumerate(sorted(set(look.values())))}
        block = {state: numbers[look[state]] for state in automaton.states}
        blocks, has_split = len(numbers), len(numbers) > blocks
    first: dict[int, int] = {}
    for state in automaton.states:
        first.setdefault(block[state], state)
    return _mapped(automaton, {state: first[block[state]] for state in automaton.states})


def merged(automaton: DeterministicAutomaton, traces: Sequence[Trace]) -> DeterministicAutomaton:
    """Merges states of a smallest automaton, round by round, as long as all traces can be read.

    Args:
        automaton: An automaton that reads the traces, and has no two states that read the same.
        traces: All traces that were ever given.
    """
    while True:
        smaller = minimized(merged_once(automaton))
        if smaller == automaton or any(smaller.run(trace) is None for trace in traces):
            return automaton
        automaton = smaller


def merged_once(automaton: DeterministicAutomaton) -> DeterministicAutomaton:
    """One round of merges: states are grouped first, and the members of a group then go into its first state.

    That state keeps its own transitions, and all that led to a member leads to it. A merge is skipped if a symbol leads
    to different targets and more leaves that of the member, unless the two states lead to each other. Its member stays
    then, and goes into no other state in this round. Targets are those after the merges before.
    """
    rows = {state: dict(row) for state, row in automaton.successors.items()}
    for one, *members in _groups(automaton):
        for other in members:
            here, there = rows[one], rows[other]
            is_skipped = any(
                here[symbol] != target
                and not automaton.successors[target].keys() <= automaton.successors[here[symbol]].keys()
                and (here[symbol], target) != (other, one)
                for symbol, target in there.items()
            )
            if not is_skipped:
                del rows[other]
                for row in rows.values():
                    row.update((symbol, one) for symbol, target in row.items() if target == other)
    kept = (AutomatonArc(source, symbol, target) for source, row in rows.items() for symbol, target in row.items())
    return _mapped(DeterministicAutomaton(tuple(kept)), {})


def _groups(automaton: DeterministicAutomaton) -> list[list[int]]:
    """Disjoint groups of states of which the first one represents the others, in what leaves and enters them."""
    groups: list[list[int]] = []
    grouped = {INITIAL}
    for one in automaton.states:
        if one in grouped:
            continue
        members = [
            other
            for other in automaton.states
            if other != one and other not in grouped and _represents(automaton, one, other)
        ]
        if members:
            groups.append([one, *members])
            grouped.update(groups[-1])
    return groups


def _represents(automaton: DeterministicAutomaton, one: int, other: int) -> bool:
    """Whether the same symbols leave two states, or all that leave and enter the second leave and enter the first."""
    here, there = automaton.successors[one].keys(), automaton.successors[other].keys()
    return there == here or (there <= here and automaton.entering[other] <= automaton.entering[one])


def _mapped(automaton: DeterministicAutomaton, names: Mapping[int, int]) -> DeterministicAutomaton:
    """The reachable part of an automaton with other names for states; those without a new name keep theirs."""
    reached, waiting = {INITIAL}, [INITIAL]
    while waiting:
        for target in automaton.successors[waiting.pop()].values():
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    transitions = {
        AutomatonArc(names.get(source, source), symbol, names.get(target, target))
        for source, symbol, target in automaton.transitions
        if source in reached
    }
    return DeterministicAutomaton(tuple(sorted(transitions)))


def renamed(automaton: DeterministicAutomaton, previous: DeterministicAutomaton | None) -> DeterministicAutomaton:
    """Gives states the numbers of those states of a previous automaton to which the same symbols lead.

    Both automata are walked side by side, breadth first. A state that meets a number which is taken, or no state of the
    previous automaton, gets the smallest number that is left.
    """
    old = previous.successors if previous is not None else {INITIAL: {}}
    names, waiting = {INITIAL: INITIAL}, deque([INITIAL])
    while waiting:
        state = waiting.popleft()
        before = old.get(names[state], {})
        for symbol, target in sorted(automaton.successors[state].items()):
            if target not in names and symbol in before and before[symbol] not in names.values():
                names[target] = before[symbol]
                waiting.append(target)
    numbers = iter(sorted(set(range(1, len(automaton.states) + 1 + len(old))) - set(names.values())))
    for state in automaton.states:
        if state not in names:
            names[state] = next(numbers)
    return _mapped(automaton, names)
