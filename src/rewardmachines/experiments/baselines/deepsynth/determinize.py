"""A deterministic automaton from a nondeterministic one: subsets, then fewer states, then names as before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from rewardmachines.experiments.baselines.deepsynth.automaton import INITIAL, Automaton, Symbol, Trace, Transition


@dataclass(frozen=True)
class DeterministicAutomaton:
    """An automaton of which each state has at most one successor for a symbol. State 1 is the initial one."""

    transitions: tuple[Transition, ...]
    """All transitions, in order."""

    @cached_property
    def successors(self) -> Mapping[int, Mapping[Symbol, int]]:
        """Where symbols lead, for every state."""
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
    automaton: Automaton, traces: Sequence[Trace], previous: DeterministicAutomaton | None
) -> DeterministicAutomaton:
    """A small deterministic automaton that reads what is given.

    Args:
        automaton: A nondeterministic automaton that can read the traces.
        traces: The traces that must still be read when states are merged that differ in what they read.
        previous: The automaton whose states are to be recognized by their numbers, if there is one.
    """
    return renamed(merged(minimized(subsets(automaton)), traces), previous)


def subsets(automaton: Automaton) -> DeterministicAutomaton:
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
            transitions.append(Transition(numbers[states], symbol, numbers[targets]))
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
    """One round of merges, which are all decided by the automaton before the round.

    A state goes into the first one that may represent it: that keeps its own transitions, and all that led to the state
    leads to it.
    """
    representative: dict[int, int] = {}
    taken = {INITIAL}  # states that represent others, or are represented
    for one in automaton.states:
        if one in representative or one == INITIAL:
            continue
        for other in automaton.states:
            if other != one and other not in taken and _represents(automaton, one, other):
                representative[other] = one
                taken |= {one, other}
    kept = tuple(
        Transition(source, symbol, representative.get(target, target))
        for source, symbol, target in automaton.transitions
        if source not in representative
    )
    return _mapped(DeterministicAutomaton(kept), {})


def _represents(automaton: DeterministicAutomaton, one: int, other: int) -> bool:
    """Whether a state may represent another one: in what leaves and enters them, and in what leaves their targets."""
    here, there = automaton.successors[one], automaton.successors[other]
    if there.keys() != here.keys() and not (
        there.keys() <= here.keys() and automaton.entering[other] <= automaton.entering[one]
    ):
        return False
    return all(
        target == here[symbol] or automaton.successors[target].keys() <= automaton.successors[here[symbol]].keys()
        for symbol, target in there.items()
    )


def _mapped(automaton: DeterministicAutomaton, names: Mapping[int, int]) -> DeterministicAutomaton:
    """The reachable part of an automaton with other names for states; those without a new name keep theirs."""
    reached, waiting = {INITIAL}, [INITIAL]
    while waiting:
        for target in automaton.successors[waiting.pop()].values():
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    transitions = {
        Transition(names.get(source, source), symbol, names.get(target, target))
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
