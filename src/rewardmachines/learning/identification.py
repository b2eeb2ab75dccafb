"""`identify`: the smallest automaton that agrees with labelled words, with the proof that fewer states do not suffice.

Words become a graph of equal futures (`words.py`). Nodes that are pairwise incompatible, a clique, need a state each,
which is the first size; a solver refutes one size after the other until an automaton is found
(`identification_search.py`), in two processes that break the symmetry of states in different ways.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.moore import MooreMachine, Output, Symbol
from rewardmachines.exchange.abbadingo import AbbadingoSample
from rewardmachines.learning import worker
from rewardmachines.learning.identification_search import CLIQUE, ORDER
from rewardmachines.learning.learner import GRACE, Budget, Progress, Watch
from rewardmachines.learning.limits import BudgetExceeded, SearchLimits
from rewardmachines.learning.results import Refutation, TimedOut, Unsatisfiable
from rewardmachines.learning.solvers import Answer, Solvers
from rewardmachines.learning.words import WordGraph, clique, incompatible_pairs
from rewardmachines.traces import Outcome, Trace

LabelledWord: TypeAlias = tuple[Sequence[Symbol], Output]
Words: TypeAlias = Mapping[Any, Output] | AbbadingoSample | Iterable[LabelledWord | Trace]

SOLVER: Final = "cadical195"
FEW_NODES: Final = 120
"""A graph of as many nodes is searched here: a process would take longer to start."""
FEW_CONFLICTS: Final = 2_000
"""Conflicts of a solver call above which the question goes to a process after all."""
EXACT_NODES: Final = 200
"""Nodes nearest to the root for which it is said that one prefix leads to one state."""


@dataclass(frozen=True)
class DratProof:
    """Two files: the clauses of a size that does not suffice, and the refutation of them."""

    states: int
    """The refuted size."""
    formula: Path
    """The clauses, in the DIMACS format."""
    proof: Path
    """The refutation, in the DRAT format."""
    lemmas: int
    """The number of lines of the refutation."""


@dataclass(frozen=True)
class Identified:
    """The smallest automaton that agrees with the words."""

    automaton: MooreMachine
    clique: tuple[tuple[Symbol, ...], ...]
    """Prefixes that lead to different states, as continuations tell; their number is a lower bound."""
    refutations: tuple[Refutation, ...]
    """The sizes from that of the clique on that the solver refuted."""
    seconds: float
    processor_seconds: float
    """The processor time of this process and of its solvers."""
    proof: DratProof | None = None

    @property
    def states(self) -> int:
        """The number of states."""
        return self.automaton.states

    @property
    def refuted(self) -> tuple[int, ...]:
        """The sizes that the solver refuted."""
        return tuple(r.states for r in self.refutations)


def identify(
    words: Words,
    alphabet: Iterable[Symbol] | None = None,
    *,
    prefix_knowledge: bool = True,
    max_states: int | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    proof: str | Path | None = None,
    cores: int | None = None,
    watch: Watch = lambda _: None,
    limits: SearchLimits | None = None,
) -> Identified | Unsatisfiable | TimedOut:
    """The smallest Moore machine, or DFA, that gives every word its output.

    The number of states is the same each time. Where several automata of that size agree with the words, it is that of
    the process that was first; with one core, always the same.

    Args:
        words: The words with their outputs: pairs, a mapping, a sample in the Abbadingo format, or traces, whose
            symbols are labels and whose outputs are "goal", "dead_end" and "incomplete".
        alphabet: The symbols; by default those that occur.
        prefix_knowledge: Whether traces were recorded until the episode ended, so that proper prefixes are incomplete.
        max_states: The largest size to try; by default there is no limit.
        timeout: Seconds after which to give up, reading and merging the words included.
        memory: Bytes that each solver process may take, and by which this process may grow.
        proof: A file for the refutation of the size below (DRAT); the clauses are written beside it, as `.cnf`.
        cores: The number of solver processes, two at most.
        watch: Called with the progress of the search.
        limits: The limits of an earlier search that goes on, instead of new ones from `timeout` and `memory`.

    Returns:
        `Identified`, `TimedOut` with the bound that was proved, or `Unsatisfiable` if `max_states` do not suffice.

    Raises:
        RewardMachineError: if there are no words, or a symbol is not in the alphabet; `ContradictoryWordsError` if a
            word has two outputs.

    >>> even = identify({"": True, "a": False, "aa": True, "ab": False, "aba": True})
    >>> even.states, even.automaton.output("bab")
    (2, False)
    """
    if max_states is not None and max_states < 1:
        raise RewardMachineError(f"an automaton has at least 1 state, not {max_states}")
    limits = limits or Budget(timeout, memory).start()
    with Solvers(cores=min(cores or 2, 2), memory=memory) as solvers:
        search = _Search(solvers, limits, watch)
        try:
            if isinstance(words, AbbadingoSample) and alphabet is None:
                alphabet = words.alphabet
            search.graph = WordGraph(_pairs(words, prefix_knowledge=prefix_knowledge), alphabet, limits)
            return search.run(search.graph, max_states, None if proof is None else Path(proof))
        except BudgetExceeded as exceeded:
            return search.timed_out(exceeded)
        except MemoryError:
            return search.timed_out(BudgetExceeded("memory"))


def _pairs(words: Words, *, prefix_knowledge: bool) -> Iterator[LabelledWord]:
    if isinstance(words, AbbadingoSample):
        yield from words.labelled()
        return
    for item in words.items() if isinstance(words, Mapping) else words:
        if not isinstance(item, Trace):
            yield item
            continue
        if prefix_knowledge:
            incomplete = Outcome.INCOMPLETE.value
            yield from ((item.labels[:end], incomplete) for end in range(len(item)))
        yield item.labels, item.outcome.value


@dataclass
class _Progress(Answer):
    """The answer of a process, and the sizes that it has refuted so far."""

    tell: Callable[[dict[str, Any]], None] = field(default=lambda _: None, repr=False)
    proof: dict[str, Any] | None = field(default=None, repr=False)

    def take(self, message: dict[str, Any]) -> None:
        if "refuted" in message:
            self.tell(message)
        elif "proof" in message:
            self.proof = message
        else:
            super().take(message)


class _Search:
    """One sample, from the size of a clique on."""

    def __init__(self, solvers: Solvers, limits: SearchLimits, watch: Watch) -> None:
        self._solvers = solvers
        self._limits = limits
        self._watch = watch
        self._began = solvers.seconds
        self._refuted: dict[int, Refutation] = {}
        self._first = 1
        self.graph: WordGraph | None = None

    def run(self, graph: WordGraph, max_states: int | None, proof: Path | None) -> Identified | Unsatisfiable:
        """Searches, and checks what is found on all words.

        Raises:
            BudgetExceeded: if a limit is reached.
        """
        self._tell("incompatible words")
        incompatible = graph.incompatible()
        nodes = clique(incompatible)
        self._first = len(nodes)
        last = len(graph.after) if max_states is None else max_states  # states for all nodes are always enough
        if last < self._first:
            return Unsatisfiable(last, (), self._limits.seconds, 0)
        request = {
            "symbols": len(graph.alphabet),
            "outputs": len(graph.outputs),
            "after": [list(map(list, after.items())) for after in graph.after],
            "output": graph.output,
            "single": [single and node < EXACT_NODES for node, single in enumerate(graph.is_single)],
            "pairs": incompatible_pairs(incompatible),
            "clique": nodes,
            "first": self._first,
            "last": last,
            "solver": SOLVER,
        }
        with _scratch(proof) as folder:
            answer = self._answer(request, folder)
            if answer.model is None:
                return Unsatisfiable(last, self._refutations(), self._limits.seconds, len(self._refuted))
            automaton = self._automaton(graph, answer.model)
            written = None if proof is None or answer.proof is None else _moved(answer.proof, proof)
        witnesses = tuple(map(graph.word_to, nodes))
        spent = self._solvers.seconds - self._began
        return Identified(automaton, witnesses, self._refutations(), self._limits.seconds, spent, written)

    def _answer(self, request: dict[str, Any], folder: Path | None) -> _Progress:
        self._tell("searching")
        requests = [
            {**request, "symmetry": symmetry, "proof": None if folder is None else str(folder / symmetry)}
            for symmetry in (ORDER, CLIQUE)
        ]
        if len(request["after"]) <= FEW_NODES and (answer := self._quick(requests[0])) is not None:
            return answer
        tick = lambda: self._tell("searching")  # noqa: E731
        first = self._solvers.identify(requests, lambda: _Progress(tell=self._refute), self._limits, tick)
        assert isinstance(first, _Progress)
        return first

    def _quick(self, request: dict[str, Any]) -> _Progress | None:
        """The answer, if no size takes many conflicts."""
        answer = _Progress(tell=self._refute)

        def say(message: dict[str, Any]) -> None:
            answer.take(message)
            self._limits.check()

        try:
            worker.identify(request, say, FEW_CONFLICTS)
        except worker.OutOfConflicts:
            return None
        except ImportError:
            raise RewardMachineError("identification needs python-sat: pip install python-sat") from None
        return answer

    def _automaton(self, graph: WordGraph, model: list[Any]) -> MooreMachine:
        """The automaton that a process found; all words are checked."""
        goes, gives, initial = model
        outputs = tuple(graph.outputs[number] for number in gives)
        found = MooreMachine(graph.alphabet, outputs, tuple(zip(*goes, strict=True)) or ((),), initial)
        automaton = found.trimmed(graph.labelled)
        for word, output in self._limits.extended(GRACE).checked(graph.labelled.items()):
            if automaton.output(word) != output:
                raise AssertionError(f"a solver gave an automaton that is wrong on {word}")
        if automaton.states != self._bound():
            raise AssertionError(f"a solver gave {automaton.states} states, and at least {self._bound()} are needed")
        return automaton

    def _refute(self, message: dict[str, Any]) -> None:
        states = message["refuted"]
        words = 0 if self.graph is None else len(self.graph.labelled)
        how = f"{SOLVER}: the whole space was searched"
        self._refuted.setdefault(states, Refutation(states, words, message["seconds"], how))
        self._tell(f"refuted {states} states")

    def _refutations(self) -> tuple[Refutation, ...]:
        return tuple(self._refuted[states] for states in sorted(self._refuted))

    def _bound(self) -> int:
        return max(self._refuted, default=self._first - 1) + 1

    def timed_out(self, exceeded: BudgetExceeded) -> TimedOut:
        """What is known when a limit is reached."""
        refutations = self._refutations()
        return TimedOut(self._bound(), refutations, self._limits.seconds, len(refutations) + 1, exceeded.reason)

    def _tell(self, activity: str) -> None:
        words = 0 if self.graph is None else len(self.graph.labelled)
        self._watch(Progress(self._bound(), words, self._limits.seconds, activity))


@contextmanager
def _scratch(proof: Path | None) -> Iterator[Path | None]:
    """A folder in which processes write their proofs, if one is asked for."""
    if proof is None:
        yield None
        return
    if not proof.parent.is_dir():
        raise RewardMachineError(f"{proof}: there is no folder {proof.parent}")
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _moved(message: dict[str, Any], proof: Path) -> DratProof:
    """The files of the process that was first, where they were asked for."""
    formula = proof.with_suffix(".cnf")
    if formula == proof:
        raise RewardMachineError(f"{proof}: the clauses are written to this name; call the proof otherwise")
    try:
        shutil.move(f"{message['proof']}.cnf", formula)
        shutil.move(f"{message['proof']}.drat", proof)
    except OSError as problem:
        raise RewardMachineError(f"{proof}: {problem.strerror}") from None
    return DratProof(message["proved"], formula, proof, message["lemmas"])
