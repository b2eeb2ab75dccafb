"""The search for the first disagreement of two configurations."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from rewardmachines.core.configurations import Configuration, Configurations
from rewardmachines.core.errors import TooLargeError, TooManyConfigurationsError
from rewardmachines.core.formula import Label
from rewardmachines.core.labelsets import EMPTY, LabelSet, LabelSets
from rewardmachines.core.moves import Frames, Moves

MAX_PAIRS: Final = 400_000
MAX_TRACE: Final = 2_000_000

Pair: TypeAlias = tuple[Configuration, Configuration]


class PairStep(NamedTuple):
    """A label out of some, and the frames that must return after it."""

    labels: LabelSet | None
    """The labels, any of which will do; None where a path begins."""
    frames: Frames


@dataclass(frozen=True, slots=True)
class Path:
    """A shortest way to a disagreement."""

    steps: tuple[PairStep, ...]
    length: int
    """The number of labels."""

    def word(self, moves: Moves, sets: LabelSets) -> tuple[Label, ...]:
        """The labels, written out.

        Raises:
            TooLargeError: If there are too many of them.
        """
        if self.length > MAX_TRACE:
            raise TooLargeError(
                f"they are different, but the shortest trace that shows it has {self.length:,} labels: more than "
                f"{MAX_TRACE:,} are not written down"
            )
        word: list[Label] = []
        for step in self.steps:
            if step.labels is not None:
                word.append(sets.smallest(step.labels))
            waiting = list(reversed(step.frames))
            while waiting:
                move = moves.returns[waiting.pop()].move
                word.append(sets.smallest(move.labels))
                waiting.extend(reversed(move.frames))
        return tuple(word)


def search(
    configurations: Configurations,
    start: Pair,
    allowed: LabelSet,
    length: Callable[[Frames], int],
    max_pairs: int | None = None,
) -> Path | None:
    """The way to the nearest pair of configurations with different verdicts; None if there is none.

    Pairs are visited in the order of their distance. A pair that follows from those visited, because equality is
    transitive, is left out (Hopcroft and Karp): a trace that separates it separates one of those too, no later.

    Args:
        configurations: The transitions of pairs.
        start: The first pair.
        allowed: The labels that can occur.
        length: The least number of labels until the frames have returned.
        max_pairs: The largest number of pairs to visit; `MAX_PAIRS` if not given.

    Raises:
        TooManyConfigurationsError: If there are more pairs.
        NondeterminismError: If a label starts two calls.
    """
    most = MAX_PAIRS if max_pairs is None else max_pairs
    visited: list[tuple[int, PairStep]] = []
    equal = _Partition()
    queue: list[tuple[int, int, Pair, int, PairStep]] = []
    count = 0

    def offer(distance: int, pair: Pair, origin: int, labels: LabelSet | None) -> None:
        nonlocal count
        frames, a, b = configurations.stripped(*pair)
        if not equal.holds(a, b):
            count += 1
            heapq.heappush(queue, (distance + length(frames), count, (a, b), origin, PairStep(labels, frames)))

    offer(0, start, -1, None)
    while queue:
        distance, _, pair, origin, step = heapq.heappop(queue)
        if configurations.verdict(pair[0]) != configurations.verdict(pair[1]):
            return _path(visited, origin, step, distance)
        if not equal.join(*pair):
            continue
        if len(visited) >= most:
            raise _too_many(most)
        visited.append((origin, step))
        for labels, a, b in configurations.joint_moves(*pair, allowed):
            offer(distance + 1, (a, b), len(visited) - 1, labels)
    return None


def _path(visited: list[tuple[int, PairStep]], origin: int, last: PairStep, length: int) -> Path:
    steps = [last]
    while origin >= 0:
        origin, step = visited[origin]
        steps.append(step)
    return Path(tuple(reversed(steps)), length)


class _Partition:
    """The configurations that were found equal, unless a difference turns up later (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[Configuration, Configuration] = {}

    def holds(self, a: Configuration, b: Configuration) -> bool:
        """Whether the two are the same, or follow to be equal."""
        return a == b or self._find(a) == self._find(b)

    def join(self, a: Configuration, b: Configuration) -> bool:
        """Notes that two configurations are taken for equal; whether they were not before."""
        a, b = self._find(a), self._find(b)
        if a != b:
            self._parents[a] = b
        return a != b

    def _find(self, a: Configuration) -> Configuration:
        while (parent := self._parents.get(a)) is not None:
            if (above := self._parents.get(parent)) is None:
                return parent
            self._parents[a] = above
            a = above
        return a


class _Node(NamedTuple):
    """A pair of configurations, and the last label, which the next must differ from."""

    pair: Pair
    last: Label | None


def search_events(
    configurations: Configurations, start: Pair, sets: LabelSets, allowed: LabelSet
) -> tuple[Label, ...] | None:
    """A shortest trace to different verdicts among those without equal neighbours; None if there is none.

    What can follow depends on the last label only in that it must differ. Two last labels for each pair, the first two
    found, are therefore enough: whatever comes next differs from one of them.

    Raises:
        TooManyConfigurationsError: If there are too many pairs.
        NondeterminismError: If a label starts two calls.
    """
    first = _Node(start, None)
    origin: dict[_Node, tuple[_Node, Label] | None] = {first: None}
    visits: dict[Pair, int] = {}
    queue = deque([first])
    while queue:
        node = queue.popleft()
        a, b = node.pair
        if configurations.verdict(a) != configurations.verdict(b):
            return _word(origin, node)
        if a == b:
            continue
        region = allowed if node.last is None else sets.minus(allowed, sets.only(node.last))
        for move in configurations.joint_moves(a, b, region):
            pair = (move.a, move.b)
            for label in _listed(sets, move.labels):
                if visits.get(pair, 0) == 2:
                    break
                following = _Node(pair, label)
                if following not in origin:
                    origin[following] = (node, label)
                    visits[pair] = visits.get(pair, 0) + 1
                    queue.append(following)
        if len(origin) > MAX_PAIRS:
            raise _too_many(MAX_PAIRS)
    return None


def _listed(sets: LabelSets, labels: LabelSet) -> Iterator[Label]:
    """The labels of the set one by one, those with few propositions first."""
    while labels != EMPTY:
        label = sets.smallest(labels)
        labels = sets.minus(labels, sets.only(label))
        yield label


def _too_many(pairs: int) -> TooManyConfigurationsError:
    return TooManyConfigurationsError(
        f"no difference among the first {pairs:,} pairs of configurations, and there are more: larger hierarchies that "
        "are built differently are not compared"
    )


def _word(origin: dict[_Node, tuple[_Node, Label] | None], node: _Node) -> tuple[Label, ...]:
    word: list[Label] = []
    while (step := origin[node]) is not None:
        node, label = step
        word.append(label)
    return tuple(reversed(word))
