"""Distances to acceptance: the number of propositions that must still be seen.

The distance of a hierarchy state is that of the nearest trace which leads to acceptance. In a trace, each label counts
as many as it has propositions, but at least 1: two propositions are as far if they may be seen at once as if one must
come after the other. Equivalent hierarchies have equal distances, because only traces count.

A hierarchy state is a stack of frames, and its distance is the sum of the distances of its frames to their returns. So
callees are looked at once, and nothing is flattened.
"""

from __future__ import annotations

from collections.abc import Iterable

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import Labels, LabelSet, LabelSets, with_label_sets
from rewardmachines.core.machine import LEAF
from rewardmachines.core.moves import REJECTED, Frame, Frames, Moves
from rewardmachines.core.traversal import HierarchyState, Verdict, initial_state, verdict_of


class Distances:
    """The distances of all states of a hierarchy to acceptance.

    >>> from rewardmachines import compile_task, traverse
    >>> task = compile_task("a ; (b & c)")
    >>> distances = Distances(task)
    >>> [distances.of(state) for state in traverse(task, [{"a"}, {"c"}, {"b"}])]
    [3, 2, 1, 0]
    """

    def __init__(self, hierarchy: Hierarchy, labels: Labels = None) -> None:
        """Measures all states that some trace leads to.

        Args:
            hierarchy: The hierarchy.
            labels: The labels of traces; all labels over the propositions, if not given.
        """
        self._hierarchy = hierarchy
        self._to_return = with_label_sets(
            [hierarchy], labels, lambda sets, allowed: _distances_to_return(hierarchy, sets, allowed)
        )
        self._known: dict[HierarchyState, int | None] = {}

    @property
    def start(self) -> int | None:
        """The distance of the initial state."""
        return self.of(initial_state(self._hierarchy))

    def of(self, state: HierarchyState) -> int | None:
        """The distance of a hierarchy state between two labels.

        Args:
            state: A hierarchy state: the initial one, or one that a trace leads to.

        Returns:
            The distance, 0 if the hierarchy accepts. None if no trace leads from there to acceptance.
        """
        if state not in self._known:
            self._known[state] = self._measured(state)
        return self._known[state]

    def _measured(self, state: HierarchyState) -> int | None:
        if verdict_of(self._hierarchy, state) is Verdict.REJECT:
            return None
        # Each call goes on in the target of its edge when its callee has returned.
        places = [(state.machine, state.state), *((call.caller, call.target) for call in state.stack)]
        each = [self._to_return[place] for place in places]
        return None if None in each else sum(d for d in each if d is not None)


def _distances_to_return(hierarchy: Hierarchy, sets: LabelSets, allowed: LabelSet) -> dict[tuple[str, str], int | None]:
    """The distance of each state from its machine's return, by machine and state; None if it cannot return."""
    moves, numbers = Moves(sets, allowed), {LEAF: -1}
    for machine in sorted(hierarchy.reachable(), key=lambda m: hierarchy.heights[m.name]):
        numbers[machine.name] = moves.add(machine, numbers)
    stacks = {
        (machine.name, state): moves.at(numbers[machine.name], state)
        for machine in hierarchy.reachable()
        for state in machine.states
    }
    lengths = _lengths(moves, sets)
    return {place: _total(lengths, frames) for place, frames in stacks.items()}


def _lengths(moves: Moves, sets: LabelSets) -> dict[Frame, int]:
    """The distances of all explored frames to their returns, those that never return left out.

    Distances are lowered as long as any move lowers one (Bellman and Ford).
    """
    ways = [
        (frame, max(1, len(sets.smallest(move.labels))), move.frames)
        for frame in moves.explored()
        for move in moves.of(frame)
        if REJECTED not in move.frames
    ]
    lengths: dict[Frame, int] = {}
    is_changing = True
    while is_changing:
        is_changing = False
        for frame, cost, frames in ways:
            rest = _total(lengths, frames)
            if rest is not None and cost + rest < lengths.get(frame, cost + rest + 1):
                lengths[frame] = cost + rest
                is_changing = True
    return lengths


def _total(lengths: dict[Frame, int], frames: Frames | Iterable[Frame]) -> int | None:
    """The sum of distances of frames; None if one of them never returns."""
    total = 0
    for frame in frames:
        length = lengths.get(frame)
        if length is None:
            return None
        total += length
    return total
