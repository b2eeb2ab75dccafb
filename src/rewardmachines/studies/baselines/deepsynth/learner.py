"""DeepSynth as a baseline: when it learns, and from which traces.

A choice of states is sound if it makes no state that a symbol e enters and a symbol f leaves, although f was never
observed right after e. A variable says that a place of a sequence is in a state; others, that a symbol enters or leaves
a state. Every place must be in some state, and what follows from it is forced: one of the states in which a solution
puts a place is therefore as good as another, and the first is taken.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeAlias

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.sizes import Size
from rewardmachines.studies.baselines.deepsynth.automaton import (
    INITIAL,
    START,
    AutomatonArc,
    DeterministicAutomaton,
    LabelAutomaton,
    Pair,
    Symbol,
    Trace,
    determinize,
    pairs_of,
)
from rewardmachines.studies.baselines.protocol import Ask, Attempt, FlatConfig, FlatEpisode, FlatTask, Plain

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


def extended_by(automaton: LabelAutomaton, trace: Trace, generator: random.Random) -> LabelAutomaton:
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


def _with_sequences(automaton: LabelAutomaton, sequences: Sequence[Trace], observed: Set[Pair]) -> LabelAutomaton:
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


def later_sequence(automaton: LabelAutomaton, trace: Trace, failure: int) -> Trace:
    """The sequence that is added when a trace still fails: ten symbols, of which the last one is the failing one.

    It is longer if the automaton can read it from some state, as nothing would be demanded then; the whole beginning of
    the trace can never be read.
    """
    begin = max(0, failure + 1 - LATER)
    while begin and automaton.reads_anywhere(trace[begin : failure + 1]):
        begin -= 1
    return trace[begin : failure + 1]


# -- their states


def forbidden_pairs(automaton: LabelAutomaton, sequences: Sequence[Trace], observed: Set[Pair]) -> set[Pair]:
    """The pairs of symbols that were never observed, as far as one of the two is a symbol of the sequences."""
    present = set("".join(sequences))
    symbols = present | {transition.symbol for transition in automaton.transitions}
    return {pair for pair in product(symbols, symbols) if not present.isdisjoint(pair)} - observed


def choice(
    automaton: LabelAutomaton, sequences: Sequence[Trace], forbidden: Set[Pair], states: int
) -> list[AutomatonArc] | None:
    """Chooses states for the transitions of sequences.

    Args:
        automaton: The automaton, whose transitions are kept.
        sequences: The sequences to be read: from the initial state if it begins with `START`, else from any other one.
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
        AutomatonArc(chosen[number, place], symbol, chosen[number, place + 1])
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


def _rules(automaton: LabelAutomaton, forbidden: Set[Pair], states: int, variables: _Variables) -> Iterator[list[int]]:
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


SMALLEST: Final = LabelAutomaton(2)
"""The automaton from which every run begins: two states, and nothing that can be read."""


@dataclass(frozen=True)
class Automata:
    """The automata after a call: the one that grows, and the deterministic one that follows from it."""

    automaton: LabelAutomaton = SMALLEST
    deterministic: DeterministicAutomaton | None = None

    def next_automaton(self) -> LabelAutomaton:
        """The automaton with which a call begins: with as many states as the deterministic one has, or those in use."""
        if self.deterministic is None:
            return self.automaton
        used = max(target for _, _, target in self.automaton.transitions)
        return LabelAutomaton(max(used, len(self.deterministic.states)), self.automaton.transitions)

    def plain(self) -> dict[str, Any]:
        """The two automata as values that JSON can hold."""
        deterministic = self.deterministic
        return {
            "states": self.automaton.states,
            "transitions": sorted(map(list, self.automaton.transitions)),
            "deterministic": None if deterministic is None else list(map(list, deterministic.transitions)),
        }

    @staticmethod
    def of(plain: dict[str, Any]) -> Automata:
        """The automata that were made plain."""
        transitions = frozenset(AutomatonArc(*transition) for transition in plain["transitions"])
        deterministic = plain["deterministic"]
        return Automata(
            LabelAutomaton(plain["states"], transitions),
            None
            if deterministic is None
            else DeterministicAutomaton(tuple(AutomatonArc(*transition) for transition in deterministic)),
        )


def learn(learned: Automata, traces: Iterable[Trace], earlier: Iterable[Trace], seed: str) -> Automata:
    """Extends the automaton until it can read all traces, and determinizes it.

    Args:
        learned: The automata so far.
        traces: The traces of the call, which begin with `START`.
        earlier: The traces of all calls before.
        seed: Decides the order of traces, and where prefixes of them are cut.
    """
    generator, distinct = random.Random(seed), sorted(set(traces))  # noqa: S311
    generator.shuffle(distinct)
    automaton = learned.next_automaton()
    for trace in distinct:
        automaton = extended_by(automaton, trace, generator)
    every = [*distinct, *set(earlier).difference(distinct)]
    return Automata(automaton, determinize(automaton, every, learned.deterministic))


def search(problem: dict[str, Any]) -> dict[str, Any]:
    """`learn`, with arguments and result as JSON can hold them."""
    return learn(Automata.of(problem["learned"]), problem["traces"], problem["earlier"], problem["seed"]).plain()


FIRST: Final = ord("a")
"""The code of the character that stands for the label observed first; the next ones follow it."""


@dataclass(frozen=True)
class DeepSynthConfig(FlatConfig):
    """The settings of DeepSynth."""

    first_call: int = 50_000
    """The number of steps after which an automaton is learned first."""


class DeepSynth:
    """Learns when the running trace has no successor in the automaton: a `FlatLearner`."""

    def __init__(self, task: FlatTask, config: DeepSynthConfig, seed: int, ask: Ask) -> None:  # noqa: ARG002
        """Has no automaton yet.

        Args:
            task: Not used: DeepSynth knows nothing of its task.
            config: The settings.
            seed: Decides the order of traces, and where prefixes of them are cut.
            ask: Has searches done.
        """
        self._config, self._seed, self._ask = config, seed, ask
        self._learned = Automata()
        self._symbols: dict[Label, Symbol] = {}
        self._waiting: dict[Trace, None] = {}
        """The traces of the next call, in the order in which they were seen."""
        self._given: dict[Trace, None] = {}
        """The traces of all calls before."""
        self._steps = 0
        self._calls = 0

    @property
    def size(self) -> Size | None:
        """The states and transitions of the deterministic automaton."""
        automaton = self._learned.deterministic
        return None if automaton is None else Size(len(automaton.states), len(automaton.transitions))

    @property
    def machine(self) -> Hierarchy | None:
        """None: the automaton predicts labels, and has no accepting states."""
        return None

    def take(self, episode: FlatEpisode) -> Attempt | None:
        """Follows an episode label by label, and learns at each label that was not to be expected."""
        calls, heard = self._calls, episode.without_first_state()
        trace = START + "".join(map(self._symbol, heard.labels))
        due = self._config.first_call - self._steps
        if self._learned.deterministic is None and due <= episode.steps:
            self._learn(trace[: 1 + sum(time <= due for time in heard.times)])
        self._follow(trace)
        self._steps += episode.steps
        has_learned = self._calls > calls
        if episode.has_ended or has_learned:  # as published, a trace that was learned from waits, to its end
            self._waiting[trace] = None
        return Attempt.FOUND if has_learned else None

    def _symbol(self, label: Label) -> Symbol:
        """The character that stands for a whole label, the empty one included."""
        return self._symbols.setdefault(label, chr(FIRST + len(self._symbols)))

    def _follow(self, trace: Trace) -> None:
        """Reads a trace with the automaton, and learns wherever it has no successor."""
        if self._learned.deterministic is None:
            return
        state, successors = INITIAL, self._learned.deterministic.successors
        for place, symbol in enumerate(trace):
            target = successors[state].get(symbol)
            if target is None:
                automaton = self._learn(trace[: place + 1])
                target, successors = automaton.run(trace[: place + 1]), automaton.successors
                assert target is not None, "an automaton reads the traces from which it was learned"
            state = target

    def _learn(self, present: Trace) -> DeterministicAutomaton:
        """Learns from the traces that wait and the present one; then none waits."""
        self._waiting[present] = None
        problem = {
            "learned": self._learned.plain(),
            "traces": list(self._waiting),
            "earlier": list(self._given),
            "seed": f"{self._seed} {self._calls}",
        }
        self._learned = Automata.of(self._ask(search, problem))
        self._given |= self._waiting
        self._waiting = {}
        self._calls += 1
        assert self._learned.deterministic is not None, "every search determinizes"
        return self._learned.deterministic

    def snapshot(self) -> Mapping[str, Plain]:
        """All of its state, as values that JSON can hold."""
        return {
            "learned": self._learned.plain(),
            "labels": [sorted(label) for label in self._symbols],
            "waiting": list(self._waiting),
            "given": list(self._given),
            "steps": self._steps,
            "calls": self._calls,
        }

    def restore(self, state: Mapping[str, Plain]) -> None:
        """Restores the state of a snapshot."""
        self._learned = Automata.of(state["learned"])
        self._symbols = {}
        for label in state["labels"]:
            self._symbol(frozenset(label))
        self._waiting, self._given = dict.fromkeys(state["waiting"]), dict.fromkeys(state["given"])
        self._steps, self._calls = state["steps"], state["calls"]
