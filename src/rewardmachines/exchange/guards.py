"""The labels on which a state is left, and those on which it is not."""

from __future__ import annotations

from collections.abc import Sequence

from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.labelsets import EMPTY, LabelSet, LabelSets
from rewardmachines.core.machine import Edge
from rewardmachines.core.traversal import show_label


def guards(edges: Sequence[Edge], sets: LabelSets) -> LabelSet:
    """The labels that satisfy one of the leaf edges out of a state; raises if a label satisfies two of them.

    Halves are compared with halves, so that many edges are as cheap as a few.
    """
    if len(edges) <= 1:
        return sets.of(edges[0].formula) if edges else EMPTY
    middle = len(edges) // 2
    left, right = guards(edges[:middle], sets), guards(edges[middle:], sets)
    common = sets.both(left, right)
    if common != EMPTY:
        label = sets.smallest(common)
        first, second = [edge for edge in edges if edge.formula.holds(label)][:2]
        raise NondeterminismError(
            f"state '{first.source}': the label {show_label(label)} satisfies both {first} and {second}"
        )
    return sets.either(left, right)
