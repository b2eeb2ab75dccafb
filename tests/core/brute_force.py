"""Plain enumeration of labels, to judge the symbolic code."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, derivation, initial_state, verdict_of


def after(hierarchy: Hierarchy, state: HierarchyState, label: Label) -> HierarchyState:
    *_, (state, _) = derivation(hierarchy, state, label)
    return state


def clashing_word(hierarchy: Hierarchy, labels: Sequence[Label]) -> tuple[Label, ...] | None:
    """A shortest trace on which traversal raises."""
    start = initial_state(hierarchy)
    words: dict[HierarchyState, tuple[Label, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for label in labels:
            try:
                following = after(hierarchy, state, label)
            except NondeterminismError:
                return (*words[state], label)
            if following not in words:
                words[following] = (*words[state], label)
                queue.append(following)
    return None


Node = tuple[HierarchyState, HierarchyState, Label | None]


def shortest_difference(
    a: Hierarchy, b: Hierarchy, labels: Sequence[Label], *, events: bool = False
) -> tuple[Label, ...] | None:
    """Breadth first over pairs of hierarchy states and the last label."""
    start: Node = (initial_state(a), initial_state(b), None)
    words: dict[Node, tuple[Label, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if verdict_of(a, node[0]) is not verdict_of(b, node[1]):
            return words[node]
        for label in labels:
            if events and label == node[2]:
                continue
            following = (after(a, node[0], label), after(b, node[1], label), label if events else None)
            if following not in words:
                words[following] = (*words[node], label)
                queue.append(following)
    return None
