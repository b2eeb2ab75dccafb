"""Ranks of states, the columns in which they stand: edges lead to the right, except those that close a circle."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Arc: TypeAlias = tuple[int, int]
"""An edge between two different states, by their numbers."""

MAX_SPAN: Final = 12_000
"""Where all edges together are longer, there are fewer columns, at the price of more edges that lead back."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """`flipped` says of each arc whether it leads to the left; state 0 stands leftmost."""

    ranks: tuple[int, ...]
    flipped: tuple[bool, ...]

    def span(self, arcs: Sequence[Arc]) -> int:
        """The number of columns that all edges cross together."""
        return sum(abs(self.ranks[target] - self.ranks[source]) for source, target in arcs)


def rank(count: int, arcs: Sequence[Arc]) -> Ranking:
    """State 0 is the initial one."""
    deep = _ranked(count, arcs, _depth_first(count, arcs))
    if deep.span(arcs) <= MAX_SPAN:
        return deep
    broad = _ranked(count, arcs, _breadth_first(count, arcs))
    return min(deep, broad, key=lambda ranking: ranking.span(arcs))


def _ranked(count: int, arcs: Sequence[Arc], order: Sequence[int]) -> Ranking:
    """Longest paths along `order`; the arcs against it are flipped."""
    position = {state: index for index, state in enumerate(order)}
    flipped = tuple(position[target] < position[source] for source, target in arcs)
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for (source, target), flip in zip(arcs, flipped, strict=True):
        left, right = (target, source) if flip else (source, target)
        after[left].append(right)
        before[right].append(left)
    ranks = [0] * count
    for state in order:
        ranks[state] = max((ranks[left] + 1 for left in before[state]), default=0)
    for state in reversed(order):
        if state and len(after[state]) > len(before[state]):
            ranks[state] = min(ranks[right] for right in after[state]) - 1
    last = max(ranks)
    alone = [state for state in range(1, count) if not after[state] and not before[state]]
    for state in alone:
        ranks[state] = last
    return Ranking(tuple(ranks), flipped)


def _depth_first(count: int, arcs: Sequence[Arc]) -> list[int]:
    """Reverse postorder: only arcs that close a circle, or enter the initial state, go against it."""
    targets = _targets(count, arcs)
    finished: list[int] = []
    seen = [False] * count
    for start in range(count):
        if not seen[start]:
            _finish(start, targets, seen, finished)
    return [0, *(state for state in reversed(finished) if state != 0)]


def _finish(start: int, targets: Sequence[Sequence[int]], seen: list[bool], finished: list[int]) -> None:
    seen[start] = True
    path = [(start, iter(targets[start]))]
    while path:
        state, ahead = path[-1]
        following = next((target for target in ahead if not seen[target]), None)
        if following is None:
            finished.append(state)
            path.pop()
        else:
            seen[following] = True
            path.append((following, iter(targets[following])))


def _breadth_first(count: int, arcs: Sequence[Arc]) -> list[int]:
    targets = _targets(count, arcs)
    order: dict[int, None] = {}
    for start in range(count):
        queue = deque([start])
        while queue:
            state = queue.popleft()
            if state not in order:
                order[state] = None
                queue.extend(target for target in targets[state] if target not in order)
    return list(order)


def _targets(count: int, arcs: Sequence[Arc]) -> list[list[int]]:
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in arcs:
        targets[source].append(target)
    return targets
