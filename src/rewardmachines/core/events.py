"""A hierarchy moves only when the label changes: a label that repeats the one before is no event."""

from __future__ import annotations

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, step


def is_event(before: Label | None, label: Label) -> bool:
    """Whether a label differs from the one before.

    Args:
        before: The label of the moment before; None at the first moment of an episode, which is always an event.
        label: The label of this moment.

    >>> [is_event(None, frozenset()), is_event(frozenset("a"), frozenset("a")), is_event(frozenset("a"), frozenset())]
    [True, False, True]
    """
    return label != before


def move_on_event(hierarchy: Hierarchy, state: HierarchyState, before: Label | None, label: Label) -> HierarchyState:
    """Moves a hierarchy if the label is an event. Mirrored for arrays by `lowered.move_on_event`.

    Args:
        hierarchy: What is traversed.
        state: Where it stands.
        before: The label of the moment before; None at the first moment of an episode.
        label: The label of this moment.

    Returns:
        Where the hierarchy stands now; without an event, where it stood.

    Raises:
        NondeterminismError: The label could start two calls.
    """
    return step(hierarchy, state, label) if is_event(before, label) else state
