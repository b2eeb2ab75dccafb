"""A label that repeats the one before is no event: in environments, only events move a hierarchy."""

from __future__ import annotations

from collections.abc import Iterable

from rewardmachines.core.formula import Label


def is_event(before: Label | None, label: Label) -> bool:
    """Whether a label differs from the one before.

    Args:
        before: The label of the moment before; None at the first moment of an episode, which is always an event.
        label: The label of this moment.

    >>> [is_event(None, frozenset()), is_event(frozenset("a"), frozenset("a")), is_event(frozenset("a"), frozenset())]
    [True, False, True]
    """
    return label != before


def compress(labels: Iterable[Iterable[str]]) -> tuple[Label, ...]:
    """The label events: equal neighbours become one.

    Args:
        labels: The labels of an episode, one for each moment.

    >>> [sorted(label) for label in compress([[], ["iron"], ["iron"], [], [], ["table"]])]
    [[], ['iron'], [], ['table']]
    """
    events: list[Label] = []
    for label in map(frozenset, labels):
        if is_event(events[-1] if events else None, label):
            events.append(label)
    return tuple(events)
