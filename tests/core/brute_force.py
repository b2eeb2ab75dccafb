"""Plain enumeration of labels, to judge the symbolic code."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

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


def classes(
    hierarchy: Hierarchy, states: Sequence[HierarchyState], labels: Sequence[Label]
) -> dict[HierarchyState, int]:
    """Numbers for states and all that follow them: equal for two if and only if no trace tells these apart.

    States begin in the class of their verdict. A class is split as long as a label leads from it to several classes.
    """
    following: dict[HierarchyState, list[HierarchyState]] = {}
    queue = deque(states)
    while queue:
        state = queue.popleft()
        if state not in following:
            following[state] = [after(hierarchy, state, label) for label in labels]
            queue.extend(following[state])
    signatures: dict[HierarchyState, Hashable] = {state: verdict_of(hierarchy, state) for state in following}
    while True:
        numbers = {signature: number for number, signature in enumerate(dict.fromkeys(signatures.values()))}
        found = {state: numbers[signature] for state, signature in signatures.items()}
        signatures = {state: (found[state], *(found[s] for s in following[state])) for state in following}
        if len(set(signatures.values())) == len(numbers):
            return found
