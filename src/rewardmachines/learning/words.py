"""Labelled words as a graph in which words with equal futures meet, and pairs of words that need two states."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.moore import Output, Symbol
from rewardmachines.learning.limits import SearchLimits

NEAR: Final = 150
"""Nodes nearest to the root whose incompatible pairs become clauses, and among which a clique is looked for."""
MAX_COMPARED: Final = 3_000
"""Nodes nearest to the root that are compared with each other: the time grows with their square."""
CLIQUE_STARTS: Final = 100
"""Nodes from which a greedy clique is grown; the largest is taken."""


class ContradictoryWordsError(RewardMachineError):
    """One word with two outputs: no automaton agrees with both."""

    def __init__(self, word: Sequence[Symbol], outputs: tuple[Output, Output]) -> None:
        super().__init__(f"the word {show_symbols(word)} is there both as {outputs[0]} and as {outputs[1]}")
        self.word = tuple(word)
        """The word."""
        self.outputs = outputs
        """Its two outputs."""


def show_symbols(word: Iterable[Symbol]) -> str:
    """A word as messages show it."""
    return "<" + " ".join(map(str, word)) + ">"


class WordGraph:
    """The prefix tree of labelled words with equal futures merged: the smallest three-valued automaton of the words.

    Nodes are numbered breadth-first, the root first. Two prefixes meet in a node if and only if the words say the same
    of all their continuations, so any automaton that agrees with the words may treat them alike.
    """

    def __init__(
        self,
        words: Iterable[tuple[Sequence[Symbol], Output]],
        alphabet: Iterable[Symbol] | None = None,
        limits: SearchLimits | None = None,
    ) -> None:
        """Merges the words.

        Raises:
            ContradictoryWordsError: if a word has two outputs.
            RewardMachineError: if there is no word, or one has a symbol that is not in the alphabet.
            BudgetExceeded: if a limit of the search is reached.
        """
        self._limits = limits or SearchLimits()
        self.labelled: dict[tuple[Symbol, ...], Output] = {}
        """Each word with its output."""
        for symbols, output in self._limits.checked(words):
            word = tuple(symbols)
            if self.labelled.setdefault(word, output) != output:
                raise ContradictoryWordsError(word, (self.labelled[word], output))
        if not self.labelled:
            raise RewardMachineError("there are no labelled words to learn from")
        self.alphabet = self._alphabet(alphabet)
        """The symbols; edges have their positions."""
        self.outputs: tuple[Output, ...] = tuple(sorted(set(self.labelled.values()), key=_order))
        """The outputs that occur; nodes have their positions."""
        self._merge()

    def _alphabet(self, given: Iterable[Symbol] | None) -> tuple[Symbol, ...]:
        seen = {symbol for word in self._limits.checked(self.labelled) for symbol in word}
        if given is None:
            return tuple(sorted(seen, key=_order))
        alphabet = tuple(given)
        if unknown := sorted(map(str, seen - set(alphabet))):
            raise RewardMachineError(f"a word has the symbol {unknown[0]}, which is not in the alphabet")
        if len(set(alphabet)) != len(alphabet):
            raise RewardMachineError("the alphabet has a symbol twice")
        return alphabet

    def _tree(self) -> tuple[list[dict[int, int]], list[int]]:
        """The prefix tree: the children of each node, parents first, and the outputs, -1 where there is none."""
        symbol_numbers = {symbol: number for number, symbol in enumerate(self.alphabet)}
        output_numbers = {output: number for number, output in enumerate(self.outputs)}
        children: list[dict[int, int]] = [{}]
        outputs = [-1]
        for word, output in self._limits.checked(self.labelled.items()):
            here = 0
            for symbol in word:
                following = children[here].setdefault(symbol_numbers[symbol], len(children))
                if following == len(children):
                    children.append({})
                    outputs.append(-1)
                here = following
            outputs[here] = output_numbers[output]
        return children, outputs

    def _merge(self) -> None:
        children, outputs = self._tree()
        merged = [0] * len(children)
        classes: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        for node in self._limits.checked(range(len(children) - 1, -1, -1)):
            future = tuple(sorted((symbol, merged[child]) for symbol, child in children[node].items()))
            merged[node] = classes.setdefault((outputs[node], future), len(classes))
        futures = list(classes)
        order = [merged[0]]
        numbers = {merged[0]: 0}
        self._parents = [(0, 0)]
        for position, reached in enumerate(order):
            for symbol, child in futures[reached][1]:
                if child not in numbers:
                    numbers[child] = len(order)
                    self._parents.append((position, symbol))
                    order.append(child)
        self.output: list[int] = [futures[node][0] for node in order]
        """The output of each node, -1 where no word ends."""
        self.after: list[dict[int, int]] = [{a: numbers[child] for a, child in futures[node][1]} for node in order]
        """The next node of each node, by symbol."""
        self._height = order
        """Larger than the numbers of all nodes below: nodes were first numbered from the ends of the words."""
        self.is_single = self._single()
        """Whether one prefix alone leads to the node."""

    def word_to(self, node: int) -> tuple[Symbol, ...]:
        """A shortest prefix that leads to the node."""
        symbols: list[Symbol] = []
        while node:
            node, symbol = self._parents[node]
            symbols.append(self.alphabet[symbol])
        return tuple(reversed(symbols))

    def _single(self) -> list[bool]:
        """One prefix leads to a node if one edge does, out of a node to which one prefix leads."""
        edges_into = [0] * len(self.after)
        for after in self.after:
            for target in after.values():
                edges_into[target] += 1
        single = [True] + [False] * (len(self.after) - 1)
        waiting = [0]
        for source in waiting:
            for target in self.after[source].values():
                if edges_into[target] == 1:
                    single[target] = True
                    waiting.append(target)
        return single

    def incompatible(self, nodes: int = MAX_COMPARED) -> list[int]:
        """For each of the first nodes, a set of bits: the nodes that no automaton may bring to the same state.

        Two nodes are incompatible if some continuation has two outputs. Of many nodes only the first are compared, and
        continuations that leave them are not followed; what is found is true all the same.
        """
        count = min(nodes, len(self.after))
        with_output = [0] * len(self.outputs)
        sources: list[list[int]] = [[0] * count for _ in self.alphabet]
        for node in range(count):
            if self.output[node] >= 0:
                with_output[self.output[node]] |= 1 << node
            for symbol, target in self.after[node].items():
                if target < count:
                    sources[symbol][target] |= 1 << node
        labelled = sum(with_output)
        found = [0] * count
        before: dict[tuple[int, int], int] = {}  # by symbol and target: the nodes that lead to an incompatible node
        for node in self._limits.checked(sorted(range(count), key=self._height.__getitem__)):
            if self.output[node] >= 0:
                found[node] = labelled & ~with_output[self.output[node]]
            for symbol, target in self.after[node].items():
                if target < count:
                    if (symbol, target) not in before:
                        before[symbol, target] = _union(sources[symbol], found[target])
                    found[node] |= before[symbol, target]
        return found


def _union(sets: Sequence[int], chosen: int) -> int:
    """The union of the sets whose numbers are among the chosen bits."""
    union = 0
    while chosen:
        lowest = chosen & -chosen
        union |= sets[lowest.bit_length() - 1]
        chosen ^= lowest
    return union


def _order(value: Hashable) -> tuple[bool, float, str]:
    """The key by which symbols and outputs are sorted: numbers by value, before others by their text."""
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if isinstance(value, int | float) else 0.0, _text(value)


def _text(value: Hashable) -> str:
    return " ".join(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)


def incompatible_pairs(incompatible: Sequence[int], nodes: int = NEAR) -> list[tuple[int, int]]:
    """The incompatible pairs among the first nodes."""
    count = min(nodes, len(incompatible))
    return [(v, w) for w in range(count) for v in range(w) if incompatible[w] >> v & 1]


def clique(incompatible: Sequence[int], nodes: int = NEAR) -> tuple[int, ...]:
    """Many of the first nodes, pairwise incompatible: greedily, from each of those with the most incompatible nodes."""
    near = (1 << nodes) - 1
    incompatible = [others & near for others in incompatible[:nodes]]
    best: tuple[int, ...] = (0,)
    order = sorted(range(len(incompatible)), key=lambda v: (-incompatible[v].bit_count(), v))
    for start in order[:CLIQUE_STARTS]:
        found, common = [start], incompatible[start]
        while common:
            chosen = max(_members(common), key=lambda v: (common & incompatible[v]).bit_count())
            found.append(chosen)
            common &= incompatible[chosen]
        if len(found) > len(best):
            best = tuple(found)
    return best


def _members(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
